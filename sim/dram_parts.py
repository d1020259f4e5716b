"""The devices that ship, a channel of each: {name: fields of :class:`sim.dram_device.DramDevice`}.

Times are rounded up to memory cycles of the speed grade. JEDEC leaves some to vendors, and some
fields stand for more than one time of a standard; those are chosen as said here.

**ddr4**: DDR4-3200AA, 8 Gb x8 (JESD79-4; Micron MT40A1G8), a DIMM of 64 bits, tCK 0.625 ns,
25.6 GB/s. Chosen: tRTRS = 2, for a preamble of one cycle (read to write takes RL + BL/2 - WL + 2).

**lpddr4**: LPDDR4-3200, 8 Gb a channel (JESD209-4), two channels of 16 bits in lockstep, so 64
bytes in a burst of 16; tCK 0.625 ns, 12.8 GB/s. Latencies are set A without DBI. tRP is that of one
bank. Chosen: CL and tRTRS have 4 and 6 cycles for tDQSCK (1.5 to 3.5 ns), and tWR and tWTR one more
for tDQSS.

**gddr6**: GDDR6 at 14 Gb/s, 8 Gb, one channel of 16 bits (JESD250; Samsung K4Z80325BC: tRC 45, tRAS
30, tRFC 120 ns, tREFI 1.9 us), tCK 0.571 ns, 28 GB/s, 32 bytes in a burst of 16. Times that JESD250
leaves to vendors are chosen: tRCD 15 (write 9), tRP 15, tWR 15, tRRD 4, tFAW 16, tWTR 5 and 6 ns,
CL 24, CWL 6, tRTP 4, tPPD 2, tRTRS 1 cycles; no t32AW.

**hbm2**: HBM2 at 2 Gb/s, 8 Gb a channel, one pseudo channel of 64 bits (JESD235), tCK 1 ns, 16
GB/s, 32 bytes in a burst of 4. A cycle has a row and a column command. Chosen, as the standard
leaves them to vendors: CL 14, CWL 4, tRCD, tRP 14, tRAS 34, tRRD 4 and 6, tFAW 16, tRTP 5, tWR 16,
tWTR 6 and 8, tRTRS 2.

Chosen in all: the queues; rows interleaved over the channels by 256 bytes, and then contiguous, so
that what graphs read together is in an open row; and the hash, for strides.
"""

from typing import Any


__all__ = ["PARTS"]


PARTS: dict[str, dict[str, Any]] = {
    "ddr4": {
        "groups": 4, "banks": 4, "row_bytes": 8192, "access_bytes": 64, "burst": 4,
        "CL": 22, "CWL": 16, "tRCDRD": 22, "tRCDWR": 22, "tRP": 22, "tRAS": 52,
        "tRRD_S": 4, "tRRD_L": 8, "tFAW": 34, "t32AW": 0, "tCCD_S": 4, "tCCD_L": 8,
        "tRTP": 12, "tWR": 24, "tWTR_S": 4, "tWTR_L": 12, "tRTRS": 2, "tPPD": 0,
        "tRFC": 560, "tREFI": 12480, "two_commands": 0,
        "mapping": "column2-channel-column-group-bank-row",
    },
    "lpddr4": {
        "groups": 1, "banks": 8, "row_bytes": 4096, "access_bytes": 64, "burst": 8,
        "CL": 32, "CWL": 14, "tRCDRD": 29, "tRCDWR": 29, "tRP": 29, "tRAS": 68,
        "tRRD_S": 16, "tRRD_L": 16, "tFAW": 64, "t32AW": 0, "tCCD_S": 8, "tCCD_L": 8,
        "tRTP": 12, "tWR": 30, "tWTR_S": 17, "tWTR_L": 17, "tRTRS": 6, "tPPD": 4,
        "tRFC": 448, "tREFI": 6246, "two_commands": 0,
        "mapping": "column2-channel-column-group-bank-row",
    },
    "gddr6": {
        "groups": 4, "banks": 4, "row_bytes": 2048, "access_bytes": 32, "burst": 2,
        "CL": 24, "CWL": 6, "tRCDRD": 26, "tRCDWR": 16, "tRP": 26, "tRAS": 53,
        "tRRD_S": 7, "tRRD_L": 7, "tFAW": 28, "t32AW": 0, "tCCD_S": 2, "tCCD_L": 3,
        "tRTP": 4, "tWR": 26, "tWTR_S": 9, "tWTR_L": 11, "tRTRS": 1, "tPPD": 2,
        "tRFC": 210, "tREFI": 3333, "two_commands": 0,
        "mapping": "column3-channel-column-group-bank-row",
    },
    "hbm2": {
        "groups": 4, "banks": 4, "row_bytes": 1024, "access_bytes": 32, "burst": 2,
        "CL": 14, "CWL": 4, "tRCDRD": 14, "tRCDWR": 14, "tRP": 14, "tRAS": 34,
        "tRRD_S": 4, "tRRD_L": 6, "tFAW": 16, "t32AW": 0, "tCCD_S": 2, "tCCD_L": 4,
        "tRTP": 5, "tWR": 16, "tWTR_S": 6, "tWTR_L": 8, "tRTRS": 2, "tPPD": 0,
        "tRFC": 350, "tREFI": 3900, "two_commands": 1,
        "mapping": "column3-channel-column-bank-group-row",
    },
}
