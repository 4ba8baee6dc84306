"""Running participants' algorithms: asked case by case, kept within limits, timed as the rules need it."""
