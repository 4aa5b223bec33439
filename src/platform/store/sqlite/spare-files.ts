import { closeSync, openSync } from 'node:fs'
import { devNull } from 'node:os'

/** File descriptors kept back for what has to open when the process may open no other file. */
export class SpareFiles {
  readonly #count: number
  #open: number[] = []

  constructor(count: number) {
    this.#count = count
  }

  /** Keeps as many as there are, up to the count. */
  keep(): void {
    try {
      while (this.#open.length < this.#count) this.#open.push(openSync(devNull, 'r'))
    } catch {
      // Those that are open have to do.
    }
  }

  giveUp(): void {
    for (const file of this.#open.splice(0)) closeSync(file)
  }
}
