import type { Config } from '../../platform/config/settings.ts'
import type { BaseServices } from '../../platform/base-services.ts'
import { unlessConflict } from '../../platform/store/database.ts'
import { nodesWithout, tellNewestKey } from '../../platform/store/node-rows.ts'
import type { Nodes } from '../../platform/store/nodes.ts'
import { fingerprintOf, type KeyFile } from './key-file.ts'
import type { KeyRing } from './key-ring.ts'
import { keyChange, sealAnew, sealingAnew, useKey } from './sealed-secrets.ts'

interface RotationServices extends Pick<BaseServices, 'db' | 'changes' | 'log' | 'health'> {
  config: Pick<Config, 'secretKeyFile'>
  secrets: KeyRing
  nodes: Pick<Nodes, 'self'>
}

/** ms between looks */
const intervalMs = 1_000

/**
 * Takes a new key of the key file into use while nodes serve: not before each node can open what is sealed with it. Each says in its row which
 * key is its newest. Who finds the same in all rows seals what is stored anew; that is one batch, which fails if a node without the key has
 * joined. A node that joins later must have the key.
 */
export class SecretKeyRotation {
  readonly #services: RotationServices
  /** What the row of this node says; null: not known, for the file may have changed since it was added. */
  #told: string | null = null
  /** The nodes that lack the newest key. */
  #lacking = ''
  #looking: Promise<void> | null = null
  #timer: NodeJS.Timeout | undefined

  constructor(services: RotationServices) {
    this.#services = services
  }

  async start(): Promise<void> {
    await this.look()
    this.#timer = setInterval(() => void this.look(), intervalMs)
    this.#timer.unref()
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#looking
  }

  /** Never rejects. */
  look(): Promise<void> {
    this.#looking ??= this.#look()
      .catch((error: unknown) => this.#services.log.error({ error }, 'the secret key could not be rotated; trying again'))
      .finally(() => (this.#looking = null))
    return this.#looking
  }

  async #look(): Promise<void> {
    const { db, health, secrets, nodes, config } = this.#services
    // It may be read again meanwhile.
    const { file, used } = secrets
    const newest = fingerprintOf(file)
    if (newest !== this.#told) await db.write([tellNewestKey(nodes.self, newest)])
    this.#told = newest
    const lacking = newest === used ? [] : await nodesWithout(db, newest)
    const names = lacking.map(({ name, machine }) => `${name} on ${machine}`).join(', ')
    if (names !== this.#lacking) health.clear('key_waiting')
    this.#lacking = names
    health.set('key_waiting', lacking.length > 0, { path: config.secretKeyFile, nodes: names })
    if (newest !== used && lacking.length === 0) await this.#use(file, used)
  }

  async #use(file: KeyFile, before: string): Promise<void> {
    const { db, changes, log, secrets } = this.#services
    const newest = fingerprintOf(file)
    // The change comes first: its lock is that of the nodes that join.
    const batch = [...changes.note(keyChange, newest), useKey(newest, { before }), ...(await sealingAnew(db, file))]
    if ((await unlessConflict(db.write(batch))) === false) return
    secrets.use(newest)
    log.info({}, 'the new secret key is in use')
    void this.#sealLate().catch((error: unknown) => log.warn({ error }, 'some secrets stay sealed with the key before'))
  }

  /** What other nodes have sealed before they knew of the key. Until then it is opened with the one before. */
  async #sealLate(): Promise<void> {
    const { db, changes, secrets } = this.#services
    await changes.seenByAll()
    await sealAnew(db, secrets)
  }
}
