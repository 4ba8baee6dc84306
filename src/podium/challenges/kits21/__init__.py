"""KiTS21: segmentation of kidneys, tumours and cysts in CT."""
