import type { BaseServices } from '../../platform/base-services.ts'
import { SternaError } from '../../platform/errors.ts'
import { newId } from '../../platform/id.ts'
import { ConflictError, refusedAs, UniqueError, type Row } from '../../platform/store/database.ts'
import { heldRows } from '../../platform/store/held-list.ts'
import { limitLock } from '../../platform/store/limit-lock.ts'
import { RevisedList } from '../../platform/store/revised-list.ts'
import { storedRows } from '../../platform/store/stored-rows.ts'
import type { Secrets } from '../../senders/account/key-file.ts'
import { completed, smarthostObject, type NamedSmarthost, type NewSmarthost, type SmarthostFields } from './smarthost-object.ts'

interface SmarthostsServices extends Pick<BaseServices, 'db' | 'clock' | 'changes'> {
  secrets: Pick<Secrets, 'seal' | 'open'>
}

type StoredSmarthost = Omit<NamedSmarthost, 'login'> & { login: Uint8Array | null }

const rows = storedRows<StoredSmarthost>('smarthost')(
  [...smarthostObject.plain, 'id', 'createdAt', 'updatedAt', 'revision'],
  smarthostObject.flags,
)

const maxSmarthosts = 1000

/** The smarthosts that routes name, held in memory with their logins decrypted. */
export class Smarthosts extends RevisedList<NamedSmarthost> {
  readonly #services: SmarthostsServices
  #onChange: (() => void) | undefined

  constructor(services: SmarthostsServices) {
    const { db, changes, secrets } = services
    const read = (row: Row): NamedSmarthost => opened(rows.read(row), secrets)
    super({ kind: 'smarthost', changes, fetch: heldRows(db, { select: `select ${rows.columns} from smarthost`, read }) })
    this.#services = services
  }

  /** The oldest first. */
  list(): NamedSmarthost[] {
    return this.inOrder()
  }

  find(idOrName: string): NamedSmarthost | undefined {
    return this.held(idOrName) ?? this.inOrder(({ name }) => name === idOrName)[0]
  }

  /** @throws SternaError `not_found` */
  get(idOrName: string): NamedSmarthost {
    const found = this.find(idOrName)
    if (found) return found
    throw noSmarthost()
  }

  /** Called now, and after each change, here or at another node. */
  onChange(listener: () => void): void {
    this.#onChange = listener
    listener()
  }

  /** @throws SternaError `invalid_state` */
  async create(given: NewSmarthost): Promise<NamedSmarthost> {
    const { db, clock, secrets } = this.#services
    if (this.list().length >= maxSmarthosts) {
      throw new SternaError('invalid_state', `There may be ${maxSmarthosts} smarthosts. Remove one that is no longer needed.`)
    }
    const now = clock.now()
    const smarthost = { ...completed(given), id: newId('sh', now), createdAt: now, updatedAt: now, revision: 0 }
    const write = db.write([rows.insert(sealed(smarthost, secrets)), ...this.note(smarthost.id)])
    await refusedAs(write, UniqueError, (cause) => {
      return new SternaError('invalid_state', `There is a smarthost ${given.name} already. Change it, or choose another name.`, { cause })
    })
    return this.keep(smarthost)
  }

  /** @throws SternaError `not_found` */
  change(idOrName: string, changes: Partial<SmarthostFields>): Promise<NamedSmarthost> {
    const { id } = this.get(idOrName)
    return this.revise(id, async () => {
      const { db, clock, secrets } = this.#services
      const after = { ...this.get(id), ...changes, updatedAt: clock.now() }
      const sql = `update smarthost set ${rows.assignments([...smarthostObject.changeable, 'updatedAt'])}, revision = revision + 1
                    where id = :id and revision = :revision`
      await db.write([{ sql, params: rows.params(sealed(after, secrets)), expect: 1 }, ...this.note(id)])
      await this.reload(id)
      return this.get(id)
    })
  }

  /** @throws SternaError `not_found`; `invalid_state` while a route names it */
  async remove(idOrName: string): Promise<NamedSmarthost> {
    const smarthost = this.get(idOrName)
    const { id, name } = smarthost
    const sql = 'delete from smarthost where id = :id and not exists (select 1 from smarthost_route where via = :name)'
    const statement = { sql, params: { id, name }, expect: 1, locks: smarthostLock(name) }
    await refusedAs(this.#services.db.write([statement, ...this.note(id)]), ConflictError, (cause) => {
      return new SternaError('invalid_state', `Routes name the smarthost ${name}. Remove or change them first.`, { cause })
    })
    this.drop(id)
    return smarthost
  }

  protected override follow(): void {
    this.#onChange?.()
  }
}

/** Whoever has a route name it, or removes it, locks this. */
export const smarthostLock = (name: string): string => limitLock(`smarthost ${name}`)

const contextOf = (id: string): string => `smarthost ${id}`

const sealed = (smarthost: NamedSmarthost, secrets: Pick<Secrets, 'seal'>): StoredSmarthost => ({
  ...smarthost,
  login: smarthost.login && secrets.seal(Buffer.from(JSON.stringify(smarthost.login)), contextOf(smarthost.id)),
})

/** @throws SternaError `configuration` where the key file is another one */
const opened = (stored: StoredSmarthost, secrets: Pick<Secrets, 'open'>): NamedSmarthost => ({
  ...stored,
  login: stored.login && (JSON.parse(Buffer.from(secrets.open(stored.login, contextOf(stored.id))).toString()) as NamedSmarthost['login']),
})

const noSmarthost = (): SternaError => new SternaError('not_found', 'There is no smarthost with this id or name.')
