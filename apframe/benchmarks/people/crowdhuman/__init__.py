"""CrowdHuman."""
