import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { DatabaseProxy } from './database-proxy.ts'
import type { PostgresCluster } from './postgres-cluster.ts'
import type { Ending, ServerUnderTest } from './server-under-test.ts'

/** What a node says when it ends because others have taken over its work. */
const lastWord = 'Other nodes have taken over the work of this one'

export const keyFileOf = ({ environment }: ServerUnderTest): string => join(environment['STERNA_DATA_DIR'] as string, 'secret.key')

/** One of the nodes over one database: a real process, with a network of its own to the database. */
export class ClusterNode {
  readonly name: string
  readonly server: ServerUnderTest
  readonly proxy: DatabaseProxy
  readonly #cluster: PostgresCluster
  /** What it is called in the database since its last start. */
  #row = ''

  private constructor(name: string, parts: { server: ServerUnderTest; proxy: DatabaseProxy; cluster: PostgresCluster }) {
    this.name = name
    this.server = parts.server
    this.proxy = parts.proxy
    this.#cluster = parts.cluster
  }

  /** `settings` as in `ServerUnderTest.on`; the key file is that of `base`. */
  static async prepare(
    name: string,
    { base, directory, proxy, cluster }: { base: ServerUnderTest; directory: string; proxy: DatabaseProxy; cluster: PostgresCluster },
  ): Promise<ClusterNode> {
    const own = join(directory, name)
    mkdirSync(own)
    copyFileSync(keyFileOf(base), join(own, 'secret.key'))
    const server = await base.on(own, { STERNA_STORE_URL: proxy.url })
    return new ClusterNode(name, { server, proxy, cluster })
  }

  get keyFile(): string {
    return keyFileOf(this.server)
  }

  async start(): Promise<void> {
    const before = await this.#names()
    await this.server.start()
    for (const name of await this.#names()) if (!before.includes(name)) this.#row = name
  }

  /**
   * When the others have buried it, as of `performance.now()`; at most that much later as a look takes.
   * @throws Error if nobody has within a minute
   */
  async buried(): Promise<number> {
    for (const end = performance.now() + 60_000; (await this.#names()).includes(this.#row); await pause(20)) {
      if (performance.now() > end) throw new Error(`${this.name} has not been buried for a minute`)
    }
    return performance.now()
  }

  /** Whether an ending is that of a node that was buried, and says so. */
  hasSaidWhy({ code, stderr }: Ending): boolean {
    return code === 1 && stderr.includes(lastWord)
  }

  async #names(): Promise<string[]> {
    return (await this.#cluster.rows<{ name: string }>('select name from node')).map(({ name }) => name)
  }
}
