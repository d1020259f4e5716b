// Behaviour of the ECP5's block RAM as far as synth_ecp5 uses it. Yosys has no model of it.
//
// The RAM has 1024 rows of 18 bits, and two ports. A port has 1 to 18 bits, and sees a part of a
// row if it is narrow. A port of 36 bits sees two rows: then port A writes, port B reads, and each
// has half of the data pins. Addresses count bits, of bytes of 8. Each byte has a ninth bit, which
// ports of fewer than 9 bits do not see. In a port of 18 or 36 bits, the lowest address bits enable
// the bytes of a write instead.
//
// If one port reads bits that the other writes in the same cycle, the result is undefined. This
// model gives the complement of the old bits.

module DP16KD (
  input DIA17, DIA16, DIA15, DIA14, DIA13, DIA12, DIA11, DIA10, DIA9, DIA8, DIA7, DIA6, DIA5,
        DIA4, DIA3, DIA2, DIA1, DIA0,
  input ADA13, ADA12, ADA11, ADA10, ADA9, ADA8, ADA7, ADA6, ADA5, ADA4, ADA3, ADA2, ADA1, ADA0,
  input CEA, OCEA, CLKA, WEA, RSTA, CSA2, CSA1, CSA0,
  output DOA17, DOA16, DOA15, DOA14, DOA13, DOA12, DOA11, DOA10, DOA9, DOA8, DOA7, DOA6, DOA5,
        DOA4, DOA3, DOA2, DOA1, DOA0,
  input DIB17, DIB16, DIB15, DIB14, DIB13, DIB12, DIB11, DIB10, DIB9, DIB8, DIB7, DIB6, DIB5,
        DIB4, DIB3, DIB2, DIB1, DIB0,
  input ADB13, ADB12, ADB11, ADB10, ADB9, ADB8, ADB7, ADB6, ADB5, ADB4, ADB3, ADB2, ADB1, ADB0,
  input CEB, OCEB, CLKB, WEB, RSTB, CSB2, CSB1, CSB0,
  output DOB17, DOB16, DOB15, DOB14, DOB13, DOB12, DOB11, DOB10, DOB9, DOB8, DOB7, DOB6, DOB5,
        DOB4, DOB3, DOB2, DOB1, DOB0
);
  parameter DATA_WIDTH_A = 18;
  parameter REGMODE_A = "NOREG";
  parameter CSDECODE_A = "0b000";
  parameter WRITEMODE_A = "NORMAL";
  parameter CLKAMUX = "CLKA";
  parameter DATA_WIDTH_B = 18;
  parameter REGMODE_B = "NOREG";
  parameter CSDECODE_B = "0b000";
  parameter WRITEMODE_B = "NORMAL";
  parameter CLKBMUX = "CLKB";
  parameter RESETMODE = "SYNC";
  parameter ASYNC_RESET_RELEASE = "SYNC";
  parameter GSR = "ENABLED";
  parameter [319:0] INITVAL_00 = 320'h0;
  parameter [319:0] INITVAL_01 = 320'h0;
  parameter [319:0] INITVAL_02 = 320'h0;
  parameter [319:0] INITVAL_03 = 320'h0;
  parameter [319:0] INITVAL_04 = 320'h0;
  parameter [319:0] INITVAL_05 = 320'h0;
  parameter [319:0] INITVAL_06 = 320'h0;
  parameter [319:0] INITVAL_07 = 320'h0;
  parameter [319:0] INITVAL_08 = 320'h0;
  parameter [319:0] INITVAL_09 = 320'h0;
  parameter [319:0] INITVAL_0A = 320'h0;
  parameter [319:0] INITVAL_0B = 320'h0;
  parameter [319:0] INITVAL_0C = 320'h0;
  parameter [319:0] INITVAL_0D = 320'h0;
  parameter [319:0] INITVAL_0E = 320'h0;
  parameter [319:0] INITVAL_0F = 320'h0;
  parameter [319:0] INITVAL_10 = 320'h0;
  parameter [319:0] INITVAL_11 = 320'h0;
  parameter [319:0] INITVAL_12 = 320'h0;
  parameter [319:0] INITVAL_13 = 320'h0;
  parameter [319:0] INITVAL_14 = 320'h0;
  parameter [319:0] INITVAL_15 = 320'h0;
  parameter [319:0] INITVAL_16 = 320'h0;
  parameter [319:0] INITVAL_17 = 320'h0;
  parameter [319:0] INITVAL_18 = 320'h0;
  parameter [319:0] INITVAL_19 = 320'h0;
  parameter [319:0] INITVAL_1A = 320'h0;
  parameter [319:0] INITVAL_1B = 320'h0;
  parameter [319:0] INITVAL_1C = 320'h0;
  parameter [319:0] INITVAL_1D = 320'h0;
  parameter [319:0] INITVAL_1E = 320'h0;
  parameter [319:0] INITVAL_1F = 320'h0;
  parameter [319:0] INITVAL_20 = 320'h0;
  parameter [319:0] INITVAL_21 = 320'h0;
  parameter [319:0] INITVAL_22 = 320'h0;
  parameter [319:0] INITVAL_23 = 320'h0;
  parameter [319:0] INITVAL_24 = 320'h0;
  parameter [319:0] INITVAL_25 = 320'h0;
  parameter [319:0] INITVAL_26 = 320'h0;
  parameter [319:0] INITVAL_27 = 320'h0;
  parameter [319:0] INITVAL_28 = 320'h0;
  parameter [319:0] INITVAL_29 = 320'h0;
  parameter [319:0] INITVAL_2A = 320'h0;
  parameter [319:0] INITVAL_2B = 320'h0;
  parameter [319:0] INITVAL_2C = 320'h0;
  parameter [319:0] INITVAL_2D = 320'h0;
  parameter [319:0] INITVAL_2E = 320'h0;
  parameter [319:0] INITVAL_2F = 320'h0;
  parameter [319:0] INITVAL_30 = 320'h0;
  parameter [319:0] INITVAL_31 = 320'h0;
  parameter [319:0] INITVAL_32 = 320'h0;
  parameter [319:0] INITVAL_33 = 320'h0;
  parameter [319:0] INITVAL_34 = 320'h0;
  parameter [319:0] INITVAL_35 = 320'h0;
  parameter [319:0] INITVAL_36 = 320'h0;
  parameter [319:0] INITVAL_37 = 320'h0;
  parameter [319:0] INITVAL_38 = 320'h0;
  parameter [319:0] INITVAL_39 = 320'h0;
  parameter [319:0] INITVAL_3A = 320'h0;
  parameter [319:0] INITVAL_3B = 320'h0;
  parameter [319:0] INITVAL_3C = 320'h0;
  parameter [319:0] INITVAL_3D = 320'h0;
  parameter [319:0] INITVAL_3E = 320'h0;
  parameter [319:0] INITVAL_3F = 320'h0;

  localparam WIDE = DATA_WIDTH_A == 36 || DATA_WIDTH_B == 36;

  reg [17:0] rows [0:1023];

  task fill(input integer group, input [319:0] value);
    integer row;
    for (row = 0; row < 16; row = row + 1)
      rows[16 * group + row] = value[20 * row +: 18];
  endtask

  initial begin
    fill(0, INITVAL_00);
    fill(1, INITVAL_01);
    fill(2, INITVAL_02);
    fill(3, INITVAL_03);
    fill(4, INITVAL_04);
    fill(5, INITVAL_05);
    fill(6, INITVAL_06);
    fill(7, INITVAL_07);
    fill(8, INITVAL_08);
    fill(9, INITVAL_09);
    fill(10, INITVAL_0A);
    fill(11, INITVAL_0B);
    fill(12, INITVAL_0C);
    fill(13, INITVAL_0D);
    fill(14, INITVAL_0E);
    fill(15, INITVAL_0F);
    fill(16, INITVAL_10);
    fill(17, INITVAL_11);
    fill(18, INITVAL_12);
    fill(19, INITVAL_13);
    fill(20, INITVAL_14);
    fill(21, INITVAL_15);
    fill(22, INITVAL_16);
    fill(23, INITVAL_17);
    fill(24, INITVAL_18);
    fill(25, INITVAL_19);
    fill(26, INITVAL_1A);
    fill(27, INITVAL_1B);
    fill(28, INITVAL_1C);
    fill(29, INITVAL_1D);
    fill(30, INITVAL_1E);
    fill(31, INITVAL_1F);
    fill(32, INITVAL_20);
    fill(33, INITVAL_21);
    fill(34, INITVAL_22);
    fill(35, INITVAL_23);
    fill(36, INITVAL_24);
    fill(37, INITVAL_25);
    fill(38, INITVAL_26);
    fill(39, INITVAL_27);
    fill(40, INITVAL_28);
    fill(41, INITVAL_29);
    fill(42, INITVAL_2A);
    fill(43, INITVAL_2B);
    fill(44, INITVAL_2C);
    fill(45, INITVAL_2D);
    fill(46, INITVAL_2E);
    fill(47, INITVAL_2F);
    fill(48, INITVAL_30);
    fill(49, INITVAL_31);
    fill(50, INITVAL_32);
    fill(51, INITVAL_33);
    fill(52, INITVAL_34);
    fill(53, INITVAL_35);
    fill(54, INITVAL_36);
    fill(55, INITVAL_37);
    fill(56, INITVAL_38);
    fill(57, INITVAL_39);
    fill(58, INITVAL_3A);
    fill(59, INITVAL_3B);
    fill(60, INITVAL_3C);
    fill(61, INITVAL_3D);
    fill(62, INITVAL_3E);
    fill(63, INITVAL_3F);
    if (REGMODE_A != "NOREG" || REGMODE_B != "NOREG" || CSDECODE_A != "0b000"
        || CSDECODE_B != "0b000" || CLKAMUX == "INV" || CLKBMUX == "INV")
      $display("ERROR: DP16KD is used in a way that its model does not know");
  end

  // Position of the first bit of a narrow port in its row.
  function [4:0] offset(input integer width, input [13:0] address);
    case (width)
      1: offset = 9 * address[3] + address[2:0];
      2: offset = 9 * address[3] + {address[2:1], 1'b0};
      4: offset = 9 * address[3] + {address[2], 2'b00};
      9: offset = 9 * address[3];
      default: offset = 0;
    endcase
  endfunction

  // The bits that a port sees in its row, or in both rows; and the bits that it writes.
  function [35:0] seen(input integer width, input [13:0] address);
    seen = ((36'd1 << width) - 36'd1) << offset(width, address);
  endfunction

  function [35:0] chosen(input integer width, input [13:0] address);
    case (width)
      36: chosen = {{9{address[3]}}, {9{address[2]}}, {9{address[1]}}, {9{address[0]}}};
      18: chosen = {18'd0, {9{address[1]}}, {9{address[0]}}};
      default: chosen = seen(width, address);
    endcase
  endfunction

  wire [13:0] address_a = {ADA13, ADA12, ADA11, ADA10, ADA9, ADA8, ADA7, ADA6, ADA5, ADA4, ADA3,
        ADA2, ADA1, ADA0};
  wire [17:0] half_a = {DIA17, DIA16, DIA15, DIA14, DIA13, DIA12, DIA11, DIA10, DIA9, DIA8, DIA7,
        DIA6, DIA5, DIA4, DIA3, DIA2, DIA1, DIA0};
  reg [17:0] out_a = 0, out_b = 0, low_b = 0;
  assign {DOA17, DOA16, DOA15, DOA14, DOA13, DOA12, DOA11, DOA10, DOA9, DOA8, DOA7, DOA6, DOA5,
        DOA4, DOA3, DOA2, DOA1, DOA0} = DATA_WIDTH_B == 36 ? low_b : out_a;
  wire [13:0] address_b = {ADB13, ADB12, ADB11, ADB10, ADB9, ADB8, ADB7, ADB6, ADB5, ADB4, ADB3,
        ADB2, ADB1, ADB0};
  wire [17:0] half_b = {DIB17, DIB16, DIB15, DIB14, DIB13, DIB12, DIB11, DIB10, DIB9, DIB8, DIB7,
        DIB6, DIB5, DIB4, DIB3, DIB2, DIB1, DIB0};
  assign {DOB17, DOB16, DOB15, DOB14, DOB13, DOB12, DOB11, DOB10, DOB9, DOB8, DOB7, DOB6, DOB5,
        DOB4, DOB3, DOB2, DOB1, DOB0} = out_b;

  // Rows and bits of each port. Each port looks at a pair of rows, as one may have 36 bits.
  wire [9:0] row_a = DATA_WIDTH_A == 36 ? {address_a[13:5], 1'b0} : address_a[13:4];
  wire [9:0] row_b = DATA_WIDTH_B == 36 ? {address_b[13:5], 1'b0} : address_b[13:4];
  wire [35:0] data_a = {half_b, half_a} << offset(DATA_WIDTH_A, address_a);
  wire [35:0] data_b = {18'd0, half_b} << offset(DATA_WIDTH_B, address_b);
  wire [35:0] write_a = CEA & WEA ? chosen(DATA_WIDTH_A, address_a) : 36'd0;
  wire [35:0] write_b = CEB & WEB ? chosen(DATA_WIDTH_B, address_b) : 36'd0;

  // Bits that the other port writes at `row`, as bits of the pair of rows that begins at `from`.
  function [35:0] beside(input [35:0] bits, input [9:0] row, input [9:0] from);
    beside = row == from ? bits : row == from + 10'd1 ? bits << 18
             : row + 10'd1 == from ? bits >> 18 : 36'd0;
  endfunction

  wire [35:0] old_a = {rows[row_a + 10'd1], rows[row_a]} ^ beside(write_b, row_b, row_a);
  wire [35:0] old_b = {rows[row_b + 10'd1], rows[row_b]} ^ beside(write_a, row_a, row_b);
  wire [35:0] read_a = (WRITEMODE_A == "WRITETHROUGH"
                        ? old_a & ~write_a | data_a & write_a : old_a)
                       >> offset(DATA_WIDTH_A, address_a);
  wire [35:0] read_b = (WRITEMODE_B == "WRITETHROUGH"
                        ? old_b & ~write_b | data_b & write_b : old_b)
                       >> offset(DATA_WIDTH_B, address_b);
  wire keep_a = WRITEMODE_A == "NORMAL" && WEA, keep_b = WRITEMODE_B == "NORMAL" && WEB;

  integer place_a, place_b;
  always @(posedge CLKA) begin
    for (place_a = 0; place_a < 18; place_a = place_a + 1) begin
      if (write_a[place_a]) rows[row_a][place_a] <= data_a[place_a];
      if (write_a[place_a + 18]) rows[row_a + 10'd1][place_a] <= data_a[place_a + 18];
    end
    if (RSTA) out_a <= 0;
    else if (CEA & ~keep_a) out_a <= read_a & seen(DATA_WIDTH_A, 0);
  end

  always @(posedge CLKB) begin
    for (place_b = 0; place_b < 18; place_b = place_b + 1)
      if (write_b[place_b]) rows[row_b][place_b] <= data_b[place_b];
    if (RSTB) begin
      out_b <= 0;
      low_b <= 0;
    end else if (CEB & ~keep_b) begin
      out_b <= DATA_WIDTH_B == 36 ? read_b[35:18] : read_b & seen(DATA_WIDTH_B, 0);
      low_b <= read_b;
    end
  end
endmodule
