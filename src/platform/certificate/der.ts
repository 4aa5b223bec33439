/** The few types of DER (X.690) that certificates and signing requests are made of. */
const value =
  (tag: number) =>
  (...parts: Uint8Array[]): Buffer => {
    const content = Buffer.concat(parts)
    return Buffer.concat([Buffer.from([tag]), lengthOf(content.length), content])
  }

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length])
  return length < 0x100 ? Buffer.from([0x81, length]) : Buffer.from([0x82, length >> 8, length & 0xff])
}

export const sequence = value(0x30)
export const set = value(0x31)
export const octets = value(0x04)
export const utf8 = (text: string): Buffer => value(0x0c)(Buffer.from(text))
/** A non-negative number, in big-endian bytes. */
export const integer = (bytes: Uint8Array): Buffer => value(0x02)(Buffer.from([0]).subarray((bytes[0] ?? 0) < 0x80 ? 1 : 0), bytes)
export const bits = (bytes: Uint8Array): Buffer => value(0x03)(Buffer.from([0]), bytes)
export const yes = value(0x01)(Buffer.from([0xff]))
/** `[n]` around other values. */
export const tagged = (n: number, ...parts: Uint8Array[]): Buffer => value(0xa0 + n)(...parts)
/** `[n] IMPLICIT IA5String`. */
export const taggedText = (n: number, text: string): Buffer => value(0x80 + n)(Buffer.from(text, 'latin1'))
/** Until 2049. */
export const utcTime = (at: number): Buffer => value(0x17)(Buffer.from(`${new Date(at).toISOString().slice(2, 19).replace(/[-:T]/g, '')}Z`))

/** From its dotted form. */
export function identifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number)
  return value(0x06)(Buffer.from([first * 40 + second, ...rest.flatMap(base128)]))
}

function base128(number: number): number[] {
  const digits = [number & 0x7f]
  for (let left = number >>> 7; left > 0; left >>>= 7) digits.unshift(0x80 | (left & 0x7f))
  return digits
}
