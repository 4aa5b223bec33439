/** What a proxy sends ahead by version 1 of the PROXY protocol. */
export const proxyHeaderV1 = (address: string): Buffer =>
  Buffer.from(`PROXY TCP${address.includes(':') ? 6 : 4} ${address} ${address.includes(':') ? '::1' : '127.0.0.1'} 50000 25\r\n`)

const signature = Buffer.from('0d0a0d0a000d0a515549540a', 'hex')

/** The same by version 2, for a client of IPv4; with `more` behind the addresses. */
export const proxyHeaderV2 = (address: string, more = Buffer.alloc(0)): Buffer =>
  rawHeaderV2(0x21, 0x11, Buffer.concat([Buffer.from([...address.split('.').map(Number), 127, 0, 0, 1, 0xc3, 0x50, 0, 25]), more]))

/** Version 2 with any command, family and rest. */
export const rawHeaderV2 = (command: number, family: number, rest: Buffer): Buffer =>
  Buffer.concat([signature, Buffer.from([command, family, rest.length >> 8, rest.length & 255]), rest])
