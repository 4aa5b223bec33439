import type { Config } from '../../platform/config/settings.ts'
import type { BaseServices } from '../../platform/base-services.ts'
import { unlessConflict } from '../../platform/store/database.ts'
import { nodesWithout, tellNewestKey } from '../../platform/store/node-rows.ts'
import type { EndDuty, Nodes } from '../../platform/store/nodes.ts'
import type { KeyRing } from './key-ring.ts'
import { keyChange, useKey } from './sealed-secrets.ts'
import { SealingAnew } from './sealing-anew.ts'

interface RotationServices extends Pick<BaseServices, 'db' | 'clock' | 'changes' | 'log' | 'health'> {
  config: Pick<Config, 'secretKeyFile'>
  secrets: KeyRing
  nodes: Pick<Nodes, 'self' | 'duty'>
}

/** ms between looks */
const intervalMs = 1_000

/**
 * Takes a new key of the key file into use while nodes serve: not before each node can open what is sealed with it. Each says in its row which
 * key is its newest. Who finds the same in all rows names it as the key in use, in a batch that fails if a node without the key has joined. A
 * node that joins later must have the key. Then one node seals anew what is stored.
 */
export class SecretKeyRotation {
  readonly #services: RotationServices
  /** What the row of this node says; null: not known, for the file may have changed since it was added. */
  #told: string | null = null
  /** The nodes that lack the newest key. */
  #lacking = ''
  #looking: Promise<void> | null = null
  /** Where this node has that duty. */
  #sealing: SealingAnew | null = null
  #endSealing: EndDuty = () => {}
  #timer: NodeJS.Timeout | undefined

  constructor(services: RotationServices) {
    this.#services = services
  }

  async start(): Promise<void> {
    await this.look()
    this.#endSealing = await this.#services.nodes.duty('sealing anew', async () => {
      const sealing = new SealingAnew(this.#services)
      this.#sealing = sealing
      sealing.look()
      return () => sealing.stop()
    })
    this.#timer = setInterval(() => void this.look(), intervalMs)
    this.#timer.unref()
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#looking
    await this.#endSealing()
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
    // The file may be read again meanwhile.
    const { newest, used } = secrets
    if (newest !== this.#told) await db.write([tellNewestKey(nodes.self, newest)])
    this.#told = newest
    const lacking = newest === used ? [] : await nodesWithout(db, newest)
    const names = lacking.map(({ name, machine }) => `${name} on ${machine}`).join(', ')
    if (names !== this.#lacking) health.clear('key_waiting')
    this.#lacking = names
    health.set('key_waiting', lacking.length > 0, { path: config.secretKeyFile, nodes: names })
    if (newest !== used && lacking.length === 0) await this.#use(newest, used)
    this.#sealing?.look()
  }

  async #use(newest: string, before: string): Promise<void> {
    const { db, changes, log, secrets } = this.#services
    // The change comes first: its lock is that of the nodes that join.
    if ((await unlessConflict(db.write([...changes.note(keyChange, newest), useKey(newest, { before })]))) === false) return
    secrets.use(newest)
    log.info({}, 'the new secret key is in use')
  }
}
