"""CrowdPose."""
