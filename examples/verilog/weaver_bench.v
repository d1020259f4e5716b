// A bench of the Weaver in plain Verilog: one warp registers four vertices, and takes their edges.
//
//     ./graphloom verilog weaver --preset tiny -o weaver.v
//     iverilog -g2005 -o bench weaver.v examples/verilog/weaver_bench.v
//     vvp bench
`timescale 1ns / 1ps

module weaver_bench;
  localparam REG = 0, DEC = 4;          // operations: weaver.json lists them

  reg clk = 0, rst = 1;
  always #5 clk = ~clk;

  reg [127:0] vid = 0, loc = 0, degree = 0;     // four lanes of 32 bits, lane 0 lowest
  reg [3:0] op = 0, mask = 0;
  reg valid = 0;
  wire ready, answered;
  wire [127:0] words;
  wire [3:0] lanes;
  wire [4:0] register;

  graphloom_weaver weaver (
      .clk(clk), .rst(rst), .reset(1'b0),
      .request_valid(valid), .request_ready(ready), .request_op(op), .request_warp(1'b0),
      .request_mask(mask), .request_vid(vid), .request_loc(loc), .request_degree(degree),
      .request_rd(op == DEC ? 5'd10 : 5'd0), .request_rd2(5'd11),
      .response_valid(answered), .response_ready(1'b1), .response_data(words),
      .response_rd(register), .response_mask(lanes), .response_warp(), .response_set_mask(),
      .events_decoded(), .events_waiting(), .events_skipped());

  // One instruction; it has passed at the end of the cycle in which ready is high.
  task send(input [3:0] what);
    begin
      op = what; mask = 4'hf; valid = 1;
      @(posedge clk); while (!ready) @(posedge clk);
      #1 valid = 0;
    end
  endtask

  reg over = 0;
  always @(posedge clk) if (answered) begin
    if (register == 10) begin
      $display("vertices  %0d %0d %0d %0d  of lanes %b", $signed(words[31:0]),
               $signed(words[63:32]), $signed(words[95:64]), $signed(words[127:96]), lanes);
      over <= words[31:0] == 32'hffffffff;
    end else if (!over)
      $display("addresses %0d %0d %0d %0d  of lanes %b", $signed(words[31:0]),
               $signed(words[63:32]), $signed(words[95:64]), $signed(words[127:96]), lanes);
  end

  initial begin
    @(posedge clk); #1 rst = 0;
    // Vertices 7, 8, 9 and 10 have 2, 0, 5 and 1 edges, from edge 100 on.
    vid = {32'd10, 32'd9, 32'd8, 32'd7};
    loc = {32'd107, 32'd102, 32'd102, 32'd100};
    degree = {32'd1, 32'd5, 32'd0, 32'd2};
    send(REG);
    while (!over) begin
      send(DEC);
      repeat (40) @(posedge clk);
    end
    $finish;
  end
endmodule
