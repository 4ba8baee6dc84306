"""MetaImage and NRRD: what ITK reads from a header is read from it here, or refused, and nothing in one does harm."""

import gzip
import itertools
import os
import zlib

import label_files as files
import numpy as np
import pytest
import SimpleITK

from podium.io import _streams, read_label_map, write_label_map
from podium.model import InputError, LabelMap

SHAPE = (5, 4, 3)
LABELS = files.labels(SHAPE)
VOXELS = LABELS.tobytes(order="F")
ROTATION = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
MATRIX = " ".join(map(str, ROTATION.ravel()))


def meta(lines="", *, dims=3, size="5 4 3", kind="MET_UCHAR", file="LOCAL", data=VOXELS):
    header = f"ObjectType = Image\nNDims = {dims}\nDimSize = {size}\n{lines}ElementType = {kind}\n"
    return f"{header}ElementDataFile = {file}\n".encode() + data


def nrrd(lines="", *, dims=3, size="5 4 3", kind="uint8", encoding="raw", magic="NRRD0004", data=VOXELS):
    header = f"{magic}\ntype: {kind}\ndimension: {dims}\nsizes: {size}\nencoding: {encoding}\n{lines}\n"
    return header.encode() + data


def stored(kind):
    return LABELS.astype(kind).tobytes(order="F")


def assert_like_itk(path, **options):
    """Compare voxels and geometry, to the last digit, with those that ITK reads."""
    ours, image = read_label_map(path, **options), SimpleITK.ReadImage(str(path))
    array = SimpleITK.GetArrayFromImage(image).T
    kept = len(ours.shape)
    np.testing.assert_array_equal(ours.array, array.reshape(ours.shape))
    assert ours.spacing == image.GetSpacing()[:kept]
    assert ours.origin == image.GetOrigin()[:kept]
    direction = np.array(image.GetDirection()).reshape(array.ndim, array.ndim)[:kept, :kept]
    np.testing.assert_allclose(ours.direction, direction, rtol=0, atol=1e-15)


SPACE = "space directions: (0,2,0) (0.3,0,3.1) (1.7,0,0)\nspace origin: (1,-2.5,3)\n"
OTHER = "ElementSpacing = 0.7 0.8 0.9\n"
LIKE_ITK = {
    "a.mha": {
        "nothing": meta(),
        "spacing": meta(OTHER),
        "size": meta("ElementSize = 0.1 0.2 0.3\n"),
        "size and spacing": meta("ElementSize = 0.1 0.2 0.3\n" + OTHER),
        "spacing and size": meta(OTHER + "ElementSize = 0.1 0.2 0.3\n"),
        "spacing twice": meta(OTHER + "ElementSpacing = 4 5 6\n"),
        **{name: meta(f"{name} = 0.1 -20 3e1\n") for name in ("Offset", "Position", "Origin")},
        **{
            " ".join(names): meta("".join(f"{name} = {len(name)} {k} 1\n" for k, name in enumerate(names)))
            for names in itertools.permutations(("Offset", "Position", "Origin"))
        },
        "offset and position": meta("Position = 1 2 3\nOffset = 4 5 6\n"),
        **{name: meta(f"{name} = {MATRIX}\n") for name in ("TransformMatrix", "Rotation", "Orientation")},
        **{
            " ".join(names): meta(f"{names[0]} = {MATRIX}\n{names[1]} = 0 1 0 0 0 1 1 0 0\n")
            for names in itertools.permutations(("TransformMatrix", "Rotation", "Orientation"), 2)
        },
        "oblique": meta("TransformMatrix = 1 0 0 0 1 0 0.5 0 1\n"),
        "centre of rotation": meta(f"TransformMatrix = {MATRIX}\nCenterOfRotation = 5 6 7\nOffset = 1 2 3\n"),
        "units": meta("DistanceUnits = um\n" + OTHER),
        "orientation in letters": meta("AnatomicalOrientation = LPS\n"),
        "intensities": meta("ElementToIntensityFunctionSlope = 2\nElementToIntensityFunctionOffset = 5\n"),
        "names in small letters": meta(OTHER.lower()),
        "colons": meta(OTHER.replace("=", ":")),
        "no spaces": meta(OTHER.replace(" = ", "=")),
        "tabs": meta(OTHER.replace(" ", "\t")),
        "a space before": meta(" " + OTHER),
        "an empty line": meta("\n" + OTHER),
        "a comment": meta("Comment = a = b: c\n" + OTHER),
        "Windows": meta(OTHER, data=b"").replace(b"\n", b"\r\n") + VOXELS,
        "local": meta(file="local"),
        "two dimensions": meta("Rotation = 0 1 1 0\nOffset = 1 2\n" + OTHER[:-5] + "\n", dims=2, size="5 12"),
        "four dimensions": meta("Offset = 1 2 3 4\nElementSpacing = 3 4 5 6\n", dims=4, size="5 4 3 1"),
        "big-endian": meta("BinaryDataByteOrderMSB = True\n", kind="MET_SHORT", data=stored(">i2")),
        "big-endian elements": meta("ElementByteOrderMSB = True\n", kind="MET_SHORT", data=stored(">i2")),
        "of two minds about order": meta(
            "ElementByteOrderMSB = True\nBinaryDataByteOrderMSB = False\n", kind="MET_SHORT", data=stored("<i2")
        ),
        "compressed": meta(
            f"CompressedData = True\nCompressedDataSize = {len(zlib.compress(VOXELS))}\n", data=zlib.compress(VOXELS)
        ),
        "long": meta(kind="MET_LONG", data=stored("<i4")),
        "unsigned long": meta(kind="MET_ULONG", data=stored("<u4")),
        "beside": meta(file="voxels", data=b""),
        "beside, compressed": meta("CompressedData = True\n", file="zlib", data=b""),
        "beside, behind bytes": meta("HeaderSize = 6\n", file="behind", data=b""),
        "beside, at the end": meta("HeaderSize = -1\n", file="behind", data=b""),
    },
    "a.nrrd": {
        "nothing": nrrd(),
        "spacings": nrrd("spacings: 0.7 0.8 0.9\n"),
        **{
            space: nrrd(f"space: {space}\n{SPACE}")
            for space in (
                "left-posterior-superior",
                "LPS",
                "lps",
                "Right-Anterior-Superior",
                "RAS",
                "left-anterior-superior",
                "LAS",
                "leftanteriorsuperior",
                "scanner-xyz",
                "3D-right-handed",
                "3D-left-handed",
            )
        },
        "a space by number": nrrd("space dimension: 3\n" + SPACE),
        "directions alone": nrrd("space: RAS\n" + SPACE.splitlines()[0] + "\n"),
        "origin alone": nrrd("space: RAS\n" + SPACE.splitlines()[1] + "\n"),
        "a space alone": nrrd("space: RAS\n"),
        "spaces in vectors": nrrd("space: LPS\nspace directions:  ( 1 , 0, 0 )  (0,1,0)(0,0,2)\n"),
        "kinds": nrrd("kinds: domain space time\n"),
        "unknown kinds": nrrd("kinds: ??? none domain\n"),
        "units": nrrd('space: LPS\nspace units: "um" "um" "um"\n' + SPACE),
        "a frame of measurement": nrrd("space: LPS\nmeasurement frame: (0,1,0) (1,0,0) (0,0,1)\n" + SPACE),
        "centers": nrrd("space: LPS\ncenters: cell cell cell\n" + SPACE),
        "names in capitals": nrrd("SPACINGS: 1 2 3\nEndian: Big\n", kind="Short", data=stored(">i2")),
        "little-endian": nrrd("endian: little\n", kind="signed short int", data=stored("<i2")),
        "keys and comments": nrrd("key:=value: x\n#spacings: 4 5 6\nspacings: 1 2 3\n"),
        "other fields": nrrd("content: x\nmin: 0\nmax: 5\nold min: 1\nold max: 2\nsample units: x\n"),
        "gzip": nrrd(encoding="gzip", data=gzip.compress(VOXELS)),
        "gz": nrrd(encoding="GZ", data=gzip.compress(VOXELS)),
        "Windows": nrrd("spacings: 1 2 3\n", data=b"").replace(b"\n", b"\r\n") + VOXELS,
        **{magic: nrrd(magic=magic) for magic in ("NRRD0001", "NRRD0005", "NRRD00.01")},
        "two dimensions": nrrd(
            "space dimension: 2\nspace directions: (0,3) (2,0)\nspace origin: (1,2)\n", dims=2, size="5 12"
        ),
        "four dimensions": nrrd("spacings: 1 2 3 4\n", dims=4, size="5 4 3 1"),
        "beside": nrrd("data file: voxels\n", data=b""),
        "beside, without a blank line": nrrd("data file: voxels", data=b""),
        "beside, compressed": nrrd("datafile: voxels.gz\n", encoding="gzip", data=b""),
    },
}


@pytest.mark.parametrize(("name", "form"), [(name, form) for name, forms in LIKE_ITK.items() for form in forms])
def test_headers_mean_what_itk_reads_in_them(tmp_path, name, form):
    """The voxels of what is compressed in a file of its own are all that ITK needs another field for."""
    for beside, content in {
        "voxels": VOXELS,
        "zlib": zlib.compress(VOXELS),
        "behind": b"stuff\n" + VOXELS,
        "voxels.gz": gzip.compress(VOXELS),
    }.items():
        (tmp_path / beside).write_bytes(content)
    (tmp_path / name).write_bytes(LIKE_ITK[name][form])
    assert_like_itk(tmp_path / name)


REFUSED = {
    "a.mha": {
        "too few": (meta("ElementSpacing = 1 2\n"), "ElementSpacing has 2 numbers, not 3"),
        "too many": (meta("Offset = 1 2 3 4\n"), "Offset has 4 numbers, not 3"),
        "a matrix too small": (meta("TransformMatrix = 1 0 0 1\n"), "TransformMatrix has 4 numbers, not 9"),
        "commas": (meta("ElementSpacing = 1,2,3\n"), "'1,2,3' where numbers belong"),
        "no number": (meta("Offset = nan 2 3\n"), "'nan 2 3' where numbers belong"),
        "underscores": (meta("Offset = 1_0 2 3\n"), "'1_0 2 3' where numbers belong"),
        "beyond measure": (meta("TransformMatrix = 1e99 0 0 0 1e99 0 0 0 1e99\n"), "where numbers belong"),
        "nothing": (meta("ElementSpacing =\n"), "'' where numbers belong"),
        "a size of fractions": (meta(size="5.0 4 3"), "'5.0 4 3' where numbers belong"),
        "a size without end": (meta(size="9" * 60_000), "where numbers belong"),
        "many sizes": (meta(dims=20_000, size="1 " * 20_000), "gives 20000 dimensions"),
        "eleven axes": (meta(dims=11, size="1 1 1 1 1 1 1 1 1 1 1"), "gives 11 dimensions"),
        "a header without end": (meta(f"Comment = {'x' * 70_000}\n"), "its header has no ElementType"),
        "voxels at its own beginning": (meta("HeaderSize = 5\n"), "need a plain file of their own"),
        "a skip without end": (meta(f"HeaderSize = {'9' * 99}\n", file="x", data=b""), "need a plain file"),
        "a name without end": (meta(file="x" * 5000, data=b""), "ElementDataFile points to 'xxx"),
        "no name": (meta(file="", data=b""), "ElementDataFile points to ''"),
        "a name of blanks": (meta(file="\u3000", data=b""), "' ', is not beside it"),
        "nothing but equals": (b"=" * 60_000, "its header has no NDims"),
    },
    "a.nrrd": {
        "brackets": (nrrd(f"space: LPS\nspace directions: {'(' * 30_000}\n"), "where 3 of (x,y,z) belong"),
        "pairs of brackets": (nrrd(f"space: LPS\nspace directions: {'()' * 15_000}\n"), "where 3 of (x,y,z) belong"),
        "empty brackets": (nrrd("space: LPS\nspace directions: () () ()\n"), "'' where numbers belong"),
        "brackets in brackets": (nrrd("space: LPS\nspace origin: ((1,2,3))\n"), "where 1 of (x,y,z) belong"),
        "four directions": (nrrd(f"space: LPS\nspace directions: {'(1,0,0) ' * 4}\n"), "where 3 of (x,y,z) belong"),
        "no direction": (nrrd("space: LPS\nspace directions: (1,0,0) (0,1,0) none\n"), "where 3 of (x,y,z) belong"),
        "flat directions": (nrrd("space: LPS\nspace directions: (1,0) (0,1) (1,1)\n"), "a vector has 2 numbers, not 3"),
        "a direction of no length": (nrrd("space: LPS\nspace directions: (1,0,0) (0,1,0) (0,0,0)\n"), "1 × 1 × 0 mm"),
        "directions in a plane": (
            nrrd("space: LPS\nspace directions: (1,0,0) (0,1,0) (1,1,0)\n"),
            "do not span space",
        ),
        "no space": (nrrd("space directions: (1,0,0) (0,1,0) (0,0,1)\n"), "without a space"),
        "origin without a space": (nrrd("space origin: (1,0,0)\n"), "without a space"),
        "a space and spacings": (nrrd("space: LPS\nspacings: 1 1 1\n"), "both 'spacings' and a space"),
        "an unknown space": (nrrd("space: right-posterior-superior\n"), "space 'right-posterior-superior'"),
        "a space of time": (nrrd("space: RAST\n", dims=4, size="5 4 3 1"), "space 'RAST' of 4 dimensions"),
        "a flat space": (nrrd("space dimension: 2\n"), "3 axes lie in a space of 2 dimensions"),
        "edges": (nrrd("axis mins: 1 2 3\n"), "'axis mins' and 'axis maxs' are not read"),
        "vectors": (nrrd("kinds: vector domain domain\n"), "an axis is of kind 'vector'"),
        "no byte order": (nrrd(kind="short", data=stored("<i2")), "does not say whether 'endian'"),
        "middle-endian": (nrrd("endian: middle\n"), "does not say whether 'endian'"),
        "a misspelt field": (nrrd("spacing: 1 2 3\n"), "'spacing' where a field of NRRD belongs"),
        "junk": (nrrd("junk" * 9_999 + "\n"), "junk' where a field of NRRD belongs"),
        "a field twice": (nrrd("spacings: 1 2 3\nSpacings: 1 2 3\n"), "'Spacings' twice"),
        "a version to come": (nrrd(magic="NRRD0009"), "does not start or end as one"),
        "a header without end": (nrrd(f"content: {'x' * 70_000}\n"), "does not start or end as one"),
        "no voxels": (nrrd(data=b"")[:-1], "no voxels follow its header"),
        "bzip2": (nrrd(encoding="bzip2"), "encoding 'bzip2' is not read"),
        "hex": (nrrd(encoding="hex"), "encoding 'hex' is not read"),
        "files by number": (nrrd("data file: a%03d.raw 1 9 1\n", data=b""), "data file points to 'a%03d.raw 1 9 1'"),
        "files by name": (nrrd("data file: LIST 2\nx\n", data=b""), "data file points to 'LIST 2'"),
        "itself": (nrrd("data file: a.nrrd\n", data=b""), "data file points to 'a.nrrd'"),
    },
}


@pytest.mark.parametrize(("name", "form"), [(name, form) for name, forms in REFUSED.items() for form in forms])
def test_what_is_refused(tmp_path, name, form):
    content, message = REFUSED[name][form]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_label_map(tmp_path / name)
    line = str(caught.value)
    assert message in line
    assert "\n" not in line
    assert len(line) < 400 + len(str(tmp_path))


@pytest.mark.parametrize("length", [*range(290, 510, 7), 5_000, 60_000])
def test_a_long_name_is_a_name(tmp_path, length):
    """ITK writes the names of MetaImage behind the end of its buffer, which ends the process from 300 letters on."""
    for field in ("Name", "Comment", "TransformType", "Modality", "x"):
        (tmp_path / "a.mha").write_bytes(meta(f"{field} = {'n' * length}\n" + OTHER))
        assert read_label_map(tmp_path / "a.mha").spacing == (0.7, 0.8, 0.9)
    (tmp_path / "a.nrrd").write_bytes(nrrd(f"content: {'(' * length}\n"))
    np.testing.assert_array_equal(read_label_map(tmp_path / "a.nrrd").array, LABELS)


@pytest.mark.parametrize(
    "kind", [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)] + ["float32", "float64"]
)
@pytest.mark.parametrize("name", ["a.mha", "a.mhd", "a.nrrd", "a.nhdr"])
@pytest.mark.parametrize("dimensions", [2, 3])
def test_what_itk_writes_is_read(tmp_path, name, kind, dimensions):
    generator = np.random.default_rng(len(kind) + dimensions)
    array = files.labels((7, 6, 5)[:dimensions], dtype=kind, largest=100)
    for compressed in (False, True):
        image = SimpleITK.GetImageFromArray(np.ascontiguousarray(array.T))
        image.SetSpacing(generator.uniform(0.1, 5, dimensions).tolist())
        image.SetOrigin(generator.normal(0, 100, dimensions).tolist())
        image.SetDirection(np.linalg.qr(generator.normal(size=(dimensions, dimensions)))[0].ravel().tolist())
        SimpleITK.WriteImage(image, str(tmp_path / name), useCompression=compressed)
        assert_like_itk(tmp_path / name)


@pytest.mark.parametrize("kind", ["uint8", "uint16", "uint32"])
@pytest.mark.parametrize("name", ["a.mha", "a.mhd", "a.nrrd", "a.nhdr", "a.nii", "a.nii.gz"])
@pytest.mark.parametrize("dimensions", [2, 3])
def test_itk_reads_what_is_written(tmp_path, name, kind, dimensions):
    array = files.labels((7, 6, 5)[:dimensions], dtype=kind, largest=np.iinfo(kind).max)
    flat = (
        np.array([[0.6, 0.8], [0.8, -0.6]]) if name[:4] != "a.ni" else np.eye(2)
    )  # NIfTI has no planes that are turned
    written = LabelMap(
        array,
        spacing=(0.7, 1 / 3, 2.9)[:dimensions],
        origin=(-10.1, 20.0, 1e-3)[:dimensions],
        direction=tuple(map(tuple, (ROTATION if dimensions == 3 else flat).tolist())),
        box=None,
        labels={},
    )
    write_label_map(tmp_path / name, written)
    image = SimpleITK.ReadImage(str(tmp_path / name))
    np.testing.assert_array_equal(SimpleITK.GetArrayFromImage(image).T, array)
    exact = 1e-12 if "nii" not in name else 1e-5  # where numbers have single precision
    np.testing.assert_allclose(image.GetSpacing(), written.spacing, atol=exact)
    np.testing.assert_allclose(image.GetOrigin(), written.origin, atol=exact)
    np.testing.assert_allclose(image.GetDirection(), np.ravel(written.direction), atol=exact)
    content = (tmp_path / name).read_bytes()
    write_label_map(tmp_path / name, written)
    assert (tmp_path / name).read_bytes() == content


@pytest.mark.parametrize("name", ["100%.mhd", "a\nb.nhdr", "a\\b.mhd", "LIST of.nhdr"])
def test_names_that_no_header_can_hold_are_not_written(tmp_path, name):
    with pytest.raises(InputError, match="no header can name"):
        write_label_map(tmp_path / name, LabelMap.from_array(LABELS))
    assert not list(tmp_path.iterdir())


SPARSE = {
    "a.nii": files.nifti(LABELS),
    "a.nii.gz": gzip.compress(files.nifti(LABELS)),
    "a.mha": meta(),
    "a.nrrd": nrrd(encoding="gzip", data=gzip.compress(VOXELS)),
    "a.mhd": meta("HeaderSize = -1\n", file="sparse", data=b""),
}


@pytest.mark.parametrize("name", SPARSE)
def test_a_file_far_longer_than_its_header_says_is_refused(tmp_path, name):
    """Twenty gigabytes that take no disk: not a byte of the voxels is read."""
    (tmp_path / name).write_bytes(SPARSE[name])
    long = tmp_path / ("sparse" if name == "a.mhd" else name)
    long.touch()
    os.truncate(long, 20 * 10**9)
    with pytest.raises(
        InputError, match=r"the header promises \d+ bytes.*, the file holds (20,000|19,999),\d{3},\d{3}"
    ):
        read_label_map(tmp_path / name)


def test_a_little_more_than_the_header_says_is_not(tmp_path):
    for name in ("a.nii", "a.mha", "a.nrrd"):
        (tmp_path / name).write_bytes(SPARSE[name])
        size = (tmp_path / name).stat().st_size
        os.truncate(tmp_path / name, size + _streams._MOST_BEHIND)
        np.testing.assert_array_equal(read_label_map(tmp_path / name).array, LABELS)
