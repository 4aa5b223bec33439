import { EventEmitter } from 'node:events'

/**
 * The content of one message on its way from the parser to what reads it: as much of a stream as smtp-server and `readToEnd` use, and no
 * buffers.
 */
export class ArrivingContent extends EventEmitter<{ data: [Buffer]; end: []; error: [Error]; close: [] }> {
  /** The last byte has come. */
  writableEnded = false
  /** The last byte has been read. */
  readableEnded = false
  destroyed = false
  /** Null before the first `resume`. */
  readableFlowing: boolean | null = null
  /** Not read yet. */
  #piece: Buffer | null = null
  #next: (() => void) | null = null

  get readable(): boolean {
    return !this.readableEnded && !this.destroyed
  }

  /** True while bytes are read as soon as the client sends them. */
  get isFlowing(): boolean {
    return this.readableFlowing === true && !this.readableEnded
  }

  /** Calls `next` when the next piece may come: at once, or after a pause. */
  give(piece: Buffer, next: () => void): void {
    this.#piece = piece
    this.#next = next
    this.#flow()
  }

  /** Gives the last piece. */
  finish(piece: Buffer): void {
    this.writableEnded = true
    this.#piece = piece
    this.#flow()
  }

  pause(): void {
    this.readableFlowing = false
  }

  resume(): void {
    this.readableFlowing = true
    this.#flow()
  }

  /** The connection has ended. */
  destroy(error?: Error): void {
    this.destroyed = true
    if (error) this.emit('error', error)
    this.emit('close')
  }

  #flow(): void {
    if (!this.isFlowing || this.destroyed) return
    const piece = this.#piece
    this.#piece = null
    if (piece && piece.length > 0) this.emit('data', piece)
    // Whoever reads it may have paused.
    if (!this.isFlowing) return
    if (this.writableEnded) {
      this.readableEnded = true
      this.emit('end')
      return
    }
    const next = this.#next
    this.#next = null
    next?.()
  }
}
