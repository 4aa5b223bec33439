import { open, type FileHandle } from 'node:fs/promises'

/** A new file of lines of JSON, for its owner alone. */
export class LineFile {
  readonly #file: FileHandle
  /** Lines that were written. */
  lines = 0

  private constructor(file: FileHandle) {
    this.#file = file
  }

  static async create(path: string): Promise<LineFile> {
    return new LineFile(await open(path, 'wx', 0o600))
  }

  async write(objects: readonly object[]): Promise<void> {
    if (objects.length === 0) return
    await this.#file.appendFile(objects.map((object) => `${JSON.stringify(object)}\n`).join(''))
    this.lines += objects.length
  }

  async close(): Promise<void> {
    await this.#file.close()
  }
}
