type ServerEvent = { id: string; event: string; data: string };

/**
 * Returns a function that takes pieces of a stream of server-sent events, cut anywhere, and returns the events that they
 * complete. The browser's EventSource cannot send the token's header.
 */
export function createEventReader() {
  let rest = "";
  let id = "";
  return (piece: string): ServerEvent[] => {
    const blocks = (rest + piece).replace(/\r\n/g, "\n").split("\n\n");
    rest = blocks.pop() ?? "";
    return blocks.flatMap((block) => {
      const { id: given = id, event = "message", data } = readFields(block);
      id = given;
      return data === undefined ? [] : [{ id, event, data }];
    });
  };
}

function readFields(block: string) {
  const fields: { id?: string; event?: string; data?: string } = {};
  for (const line of block.split("\n")) {
    const [, name, value = ""] = /^(id|event|data)(?:: ?(.*))?$/.exec(line) ?? [];
    if (name === "data") fields.data = fields.data === undefined ? value : `${fields.data}\n${value}`;
    else if (name === "id" || name === "event") fields[name] = value;
  }
  return fields;
}
