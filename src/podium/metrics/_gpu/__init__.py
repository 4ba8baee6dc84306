"""Metrics on the GPU: Triton kernels and what launches them. Imports PyTorch; nothing else imports this at its top."""
