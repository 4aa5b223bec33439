import type { Readable } from 'node:stream'

/** A file at a target. */
export interface StoredFile {
  name: string
  bytes: number
}

/** A place for copies: a directory, or a prefix in a bucket. Names are relative, with `/`, in letters, digits, `.`, `_` and `-`. */
export interface Target {
  /** How the operator writes it. */
  readonly label: string
  /** The same, and what else tells it from other places. */
  readonly place: string
  /**
   * Makes a folder for what is stored below it, `copy/` for example, where the place has folders. An empty name makes the place itself;
   * with any other, the place must be there.
   */
  prepare(folder: string): Promise<void>
  /** Stores a file, which appears whole or not at all. Its folder must be there: what replaces the place meanwhile gets nothing. */
  put(name: string, content: Readable): Promise<void>
  /** @throws SternaError `not_found` if there is no such file */
  get(name: string): Promise<Readable>
  /** Whether there is such a file. */
  has(name: string): Promise<boolean>
  /** The files whose names begin so, sorted by name; those that are not complete are left out. */
  list(prefix: string): Promise<StoredFile[]>
  /** Removes a file, if it is there. */
  remove(name: string): Promise<void>
}
