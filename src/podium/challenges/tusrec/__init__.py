"""TUS-REC: trackerless freehand ultrasound reconstruction."""
