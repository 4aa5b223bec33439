import type { SMTPServerDataStream } from 'smtp-server'
import { SMTPStream } from 'smtp-server/lib/smtp-stream.js'
import { ArrivingContent } from './arriving-content.ts'
import { DotReader } from './dot-reader.ts'

const [lf, cr] = [10, 13]

/** The library's parser of what a client sends. It reads the commands; the content of messages is read here. */
export class DataParser extends SMTPStream {
  #dots = new DotReader()
  #content = new ArrivingContent()
  /** Reads what followed the message that waits for its reply. */
  #proceed: (() => void) | null = null

  /** Nearly every client sends one command and waits for its reply: then there is no line to look for. */
  override _write(chunk: Buffer, encoding: BufferEncoding | 'buffer', next: (error?: Error | null) => void): void {
    const isOneCommand =
      !this._dataMode &&
      !this.isClosed &&
      this._remainder === '' &&
      chunk.length <= this._maxCommandLength &&
      chunk.indexOf(lf) === chunk.length - 1
    if (!isOneCommand || chunk.length === 0) return super._write(chunk, encoding, next)
    this.oncommand(chunk.subarray(0, chunk.at(-2) === cr ? -2 : -1), next)
  }

  override startDataMode(): SMTPServerDataStream {
    this._dataMode = true
    this.dataBytes = 0
    this.#dots = new DotReader()
    this.#content = new ArrivingContent()
    return this.#content as unknown as SMTPServerDataStream
  }

  override continue(): void {
    const proceed = this.#proceed
    this.#proceed = null
    proceed?.()
  }

  override _feedDataStream(chunk: Buffer, done: () => void): void {
    const { content, rest } = this.#dots.read(chunk)
    this.dataBytes += content.length
    if (rest === null) return this.#content.give(content, done)
    this._dataMode = false
    this._remainder = ''
    this.#proceed = () => this._write(rest, 'buffer', done)
    this.#content.finish(content)
  }
}
