/** What can be transferred to another thread: only bytes with a buffer of their own go without a copy. */
export function handedOver(source: unknown): ArrayBuffer[] {
  if (!(source instanceof Uint8Array)) return []
  const { buffer, byteLength } = source
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : []
}
