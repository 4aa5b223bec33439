import { randomBytes } from 'node:crypto'
import { createReadStream, createWriteStream, type Dirent } from 'node:fs'
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { codeOf, flushDirectoryLater } from '../../platform/durable-file.ts'
import { messageOf, SternaError } from '../../platform/errors.ts'
import type { StoredFile, Target } from './target.ts'

const partEnd = '.part'
/** A file that is being stored: when that began, epoch ms, by the clock of whoever stores it, in base 36. That of the target may be wrong. */
const partForm = /\.([0-9a-z]+)-[0-9a-f]{8}\.part$/
/** How old a file must be, ms, before it counts as left by a process that was killed. */
const leftAfterMs = 24 * 3_600_000

/** A directory of this machine, which may be one of another machine that is mounted. Only its owner may read what is in it. */
export class DirectoryTarget implements Target {
  readonly label: string

  constructor(path: string) {
    this.label = path
  }

  get place(): string {
    return this.label
  }

  async prepare(folder: string): Promise<void> {
    try {
      if (folder === '') await mkdir(this.label, { recursive: true, mode: 0o700 })
      let path = this.label
      for (const each of folder.split('/').filter(Boolean)) {
        path = join(path, each)
        await mkdir(path, { mode: 0o700 }).catch((error: unknown) => {
          if (codeOf(error) !== 'EEXIST') throw error
        })
      }
    } catch (error) {
      throw this.#fault('cannot be written', error)
    }
  }

  async put(name: string, content: Readable): Promise<void> {
    const path = this.#at(name)
    const part = `${path}.${Date.now().toString(36)}-${randomBytes(4).toString('hex')}${partEnd}`
    try {
      await pipeline(content, createWriteStream(part, { flags: 'wx', mode: 0o600, flush: true }))
      await rename(part, path)
      await flushDirectoryLater(dirname(path))
    } catch (error) {
      await rm(part, { force: true }).catch(() => {})
      throw this.#fault('cannot be written', error)
    }
  }

  async get(name: string): Promise<Readable> {
    try {
      // To open a pipe would wait for whoever writes to it, and a device may have no end.
      if (!(await stat(this.#at(name))).isFile()) throw new Error(`${name} is not a file`)
      const file = createReadStream(this.#at(name))
      await new Promise((resolve, reject) => file.once('open', resolve).once('error', reject))
      return file
    } catch (error) {
      if (codeOf(error) === 'ENOENT') throw new SternaError('not_found', `There is no ${name} in ${this.label}.`)
      throw this.#fault('cannot be read', error)
    }
  }

  async has(name: string): Promise<boolean> {
    try {
      return (await stat(this.#at(name))).isFile()
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return false
      throw this.#fault('cannot be read', error)
    }
  }

  async list(prefix: string): Promise<StoredFile[]> {
    try {
      const files = await this.#filesIn('', prefix)
      return files.sort((one, other) => (one.name < other.name ? -1 : 1))
    } catch (error) {
      throw this.#fault('cannot be read', error)
    }
  }

  /** Looks only where names can begin so. */
  async #filesIn(folder: string, prefix: string): Promise<StoredFile[]> {
    const files: StoredFile[] = []
    for (const entry of await entriesOf(this.#at(folder))) {
      const name = `${folder}${entry.name}`
      if (entry.isDirectory()) {
        if (prefix.startsWith(`${name}/`) || name.startsWith(prefix)) files.push(...(await this.#filesIn(`${name}/`, prefix)))
      } else if (entry.isFile() && name.startsWith(prefix)) {
        const found = await stat(this.#at(name)).catch(() => null)
        if (found === null) continue
        if (!name.endsWith(partEnd)) files.push({ name, bytes: found.size })
        else if (begunAt(name, found.mtimeMs) < Date.now() - leftAfterMs) await rm(this.#at(name), { force: true })
      }
    }
    return files
  }

  async remove(name: string): Promise<void> {
    try {
      await rm(this.#at(name), { force: true })
    } catch (error) {
      throw this.#fault('cannot be written', error)
    }
  }

  #at(name: string): string {
    return join(this.label, name)
  }

  #fault(what: string, error: unknown): SternaError {
    const advice = 'Check that the directory is mounted and has space, and that the user that runs Sterna may write there.'
    return new SternaError('invalid_state', `${this.label} ${what}: ${messageOf(error)}. ${advice}`, { cause: error })
  }
}

/** Names from before had no time. */
function begunAt(name: string, changedAt: number): number {
  const [, text] = partForm.exec(name) ?? []
  return text === undefined ? changedAt : parseInt(text, 36)
}

async function entriesOf(path: string): Promise<Dirent[]> {
  try {
    return await readdir(path, { withFileTypes: true })
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return []
    throw error
  }
}
