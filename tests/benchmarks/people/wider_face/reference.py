"""The rules of WIDER FACE's kit, as plain loops; boxes are x, y, width, height, and each face says which sets it is in."""

from __future__ import annotations

from typing import Any

Row = dict[str, Any]


def _overlap(found: Row, face: Row) -> float:
    width = min(found["x"] + found["width"], face["x"] + face["width"]) - max(found["x"], face["x"]) + 1
    height = min(found["y"] + found["height"], face["y"] + face["height"]) - max(found["y"], face["y"]) + 1
    if width <= 0 or height <= 0:
        return 0.0
    areas = [(row["width"] + 1) * (row["height"] + 1) for row in (found, face)]
    return width * height / (sum(areas) - width * height)


def average_precision(truth: list[Row], detections: list[Row], name: str) -> float | None:
    """Average precision of one of the sets; None if it has no faces."""
    n_faces = sum(bool(face[name]) for face in truth)
    if not n_faces:
        return None
    scores = [row["score"] for row in detections]
    low, high = (min(scores), max(scores)) if scores else (0, 0)
    outcomes: list[tuple[float, bool]] = []
    for image in {face["image_id"] for face in truth}:
        faces = [face for face in truth if face["image_id"] == image]
        matched_faces: set[int] = set()
        own = [row for row in detections if row["image_id"] == image]
        for row in sorted(own, key=lambda row: -row["score"]):
            overlaps = [_overlap(row, face) for face in faces]
            best = max(range(len(faces)), key=lambda k: overlaps[k])
            is_reached = overlaps[best] >= 0.5
            if is_reached and not faces[best][name]:
                continue
            outcomes.append((row["score"], is_reached and best not in matched_faces))
            if is_reached:
                matched_faces.add(best)
    points = []
    for t in range(1, 1001) if high > low else ():
        kept = [is_right for score, is_right in outcomes if (score - low) / (high - low) >= 1 - t / 1000]
        if kept:
            points.append((sum(kept) / n_faces, sum(kept) / len(kept)))
    total, best = 0.0, 0.0
    for k in range(len(points) - 1, -1, -1):
        best = max(best, points[k][1])
        total += (points[k][0] - (points[k - 1][0] if k else 0)) * best
    return total
