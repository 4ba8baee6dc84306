"""LVQuan18: full quantification of the left ventricle."""
