"""TrackRAD 2025: real-time tumour tracking on cine-MRI."""
