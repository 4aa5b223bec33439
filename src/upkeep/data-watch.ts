import { stat } from 'node:fs/promises'
import { readKeyFile } from '../senders/account/key-file.ts'
import type { KeyRing } from '../senders/account/key-ring.ts'
import type { Config } from '../platform/config/settings.ts'
import type { Health } from '../platform/health.ts'
import type { StoreFiles } from '../platform/store/store.ts'

/** ms between checks */
const intervalMs = 1_000

interface WatchServices {
  config: Pick<Config, 'secretKeyFile'>
  /** Null: only the key file is watched. */
  files: Pick<StoreFiles, 'paths'> | null
  /** Takes over what is added to the key file. */
  secrets: Pick<KeyRing, 'takeOver' | 'used'>
  health: Health
}

/**
 * Notices when the open files are no longer those that the next start would find. What is written then goes into unlinked files, and is
 * lost when the process ends.
 */
export class DataWatch {
  readonly #config: WatchServices['config']
  readonly #paths: string[]
  readonly #health: Health
  readonly #secrets: WatchServices['secrets']
  /** The identity of each database file when it was opened. */
  readonly #opened = new Map<string, string>()
  /** The identity of the key file when it was read, and the key that was in use then. */
  #key: string | null = null
  #timer: NodeJS.Timeout | undefined

  constructor({ config, files, secrets, health }: WatchServices) {
    this.#config = config
    this.#paths = Object.values(files?.paths ?? {})
    this.#health = health
    this.#secrets = secrets
  }

  /** Call it once the database and the key file are open. */
  async start(): Promise<void> {
    for (const path of this.#paths) {
      const found = await identityOf(path)
      if (found) this.#opened.set(path, found)
    }
    await this.look()
    this.#timer = setInterval(() => void this.look(), intervalMs)
    this.#timer.unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  /** Never rejects. */
  async look(): Promise<void> {
    const now = await Promise.all(Array.from(this.#opened.keys(), async (path) => ({ path, found: await identityOf(path) })))
    const [changed] = now.filter(({ path, found }) => found !== undefined && found !== this.#opened.get(path))
    this.#health.set('database_gone', changed !== undefined, { path: changed?.path })
    const { secretKeyFile } = this.#config
    const { used } = this.#secrets
    const key = await identityOf(secretKeyFile, ({ mode, mtimeNs, ctimeNs, size }) => `${mode}:${mtimeNs}:${ctimeNs}:${size}:${used}`)
    if (key === undefined || (key !== null && key === this.#key)) return
    this.#key = key
    this.#health.set('key_file', key === null || !this.#takesOver(secretKeyFile), { path: secretKeyFile })
  }

  #takesOver(path: string): boolean {
    try {
      return this.#secrets.takeOver(readKeyFile(path))
    } catch {
      return false
    }
  }
}

type Found = Awaited<ReturnType<typeof statOf>>
const statOf = (path: string) => stat(path, { bigint: true })

/** Distinguishes a file from a later one of the same name. Null if there is none, undefined if the file system does not respond. */
async function identityOf(path: string, more: (found: Found) => string = () => ''): Promise<string | null | undefined> {
  try {
    const found = await statOf(path)
    return `${found.dev}:${found.ino}:${more(found)}`
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return code === 'ENOENT' || code === 'ENOTDIR' ? null : undefined
  }
}
