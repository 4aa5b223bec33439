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
  /** Stores a file, which appears whole or not at all. */
  put(name: string, content: Readable): Promise<void>
  /** @throws SternaError `not_found` if there is no such file */
  get(name: string): Promise<Readable>
  /** The files whose names begin so, sorted by name; those that are not complete are left out. */
  list(prefix: string): Promise<StoredFile[]>
  /** Removes a file, if it is there. */
  remove(name: string): Promise<void>
}
