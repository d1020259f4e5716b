// The top of a simulation: the GPU with a register at each input. harness.cpp says why.

module graphloom_harness #(
    parameter LINE_BYTES = 64,
    parameter TAG_BITS = 4,
    parameter LINE_BITS = 32 - $clog2(LINE_BYTES)
) (
    input clk,
    input rst,
    input host_write,
    input host_read,
    input [15:0] host_addr,
    input [31:0] host_wdata,
    output [31:0] host_rdata,
    output busy,
    output error,
    output mem_req_valid,
    input mem_req_ready,
    output mem_req_write,
    output [LINE_BITS-1:0] mem_req_line,
    output [8*LINE_BYTES-1:0] mem_req_data,
    output [LINE_BYTES-1:0] mem_req_mask,
    output [TAG_BITS-1:0] mem_req_tag,
    input mem_rsp_valid,
    output mem_rsp_ready,
    input [TAG_BITS-1:0] mem_rsp_tag,
    input [8*LINE_BYTES-1:0] mem_rsp_data
`ifdef GPU_TRACE_BITS
    , output [`GPU_TRACE_BITS-1:0] trace_words
`endif
);

reg rst_now = 1, host_write_now = 0, host_read_now = 0, req_ready_now = 0, rsp_valid_now = 0;
reg [15:0] host_addr_now = 0;
reg [31:0] host_wdata_now = 0;
reg [TAG_BITS-1:0] rsp_tag_now = 0;
reg [8*LINE_BYTES-1:0] rsp_data_now = 0;

always @(posedge clk) begin
    rst_now <= rst;
    host_write_now <= host_write;
    host_read_now <= host_read;
    host_addr_now <= host_addr;
    host_wdata_now <= host_wdata;
    req_ready_now <= mem_req_ready;
    rsp_valid_now <= mem_rsp_valid;
    rsp_tag_now <= mem_rsp_tag;
    rsp_data_now <= mem_rsp_data;
end

graphloom_gpu gpu (
    .clk(clk),
    .rst(rst_now),
    .host_write(host_write_now),
    .host_read(host_read_now),
    .host_addr(host_addr_now),
    .host_wdata(host_wdata_now),
    .host_rdata(host_rdata),
    .busy(busy),
    .error(error),
    .mem_req_valid(mem_req_valid),
    .mem_req_ready(req_ready_now),
    .mem_req_write(mem_req_write),
    .mem_req_line(mem_req_line),
    .mem_req_data(mem_req_data),
    .mem_req_mask(mem_req_mask),
    .mem_req_tag(mem_req_tag),
    .mem_rsp_valid(rsp_valid_now),
    .mem_rsp_ready(mem_rsp_ready),
    .mem_rsp_tag(rsp_tag_now),
    .mem_rsp_data(rsp_data_now)
`ifdef GPU_TRACE_BITS
    , .trace_words(trace_words)
`endif
);

endmodule
