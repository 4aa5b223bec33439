/** A change of a file: bytes written at a place, or, where `bytes` is null, a new size. */
export interface FileChange {
  at: number
  bytes: Uint8Array | null
}

/** The bytes of a file, changed in place. */
export class FileContent {
  #room: Uint8Array
  #size: number

  constructor(bytes: Uint8Array) {
    this.#room = Uint8Array.from(bytes)
    this.#size = bytes.length
  }

  get bytes(): Uint8Array {
    return this.#room.subarray(0, this.#size)
  }

  apply({ at, bytes }: FileChange): void {
    const end = at + (bytes?.length ?? 0)
    if (end > this.#room.length) {
      const room = new Uint8Array(end * 2)
      room.set(this.bytes)
      this.#room = room
    }
    // What lies behind the end was cut off, or never written.
    if (end > this.#size) this.#room.fill(0, this.#size, end)
    if (bytes) this.#room.set(bytes, at)
    this.#size = bytes ? Math.max(this.#size, end) : at
  }
}
