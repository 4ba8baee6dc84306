"""CSV 2026: segmentation of carotid plaque and vessel in ultrasound, and the plaque's risk."""
