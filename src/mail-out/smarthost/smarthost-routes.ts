import type { BaseServices } from '../../platform/base-services.ts'
import { SternaError } from '../../platform/errors.ts'
import { newId } from '../../platform/id.ts'
import { ConflictError, refusedAs, UniqueError, type Statement } from '../../platform/store/database.ts'
import { heldRows } from '../../platform/store/held-list.ts'
import { RevisedList } from '../../platform/store/revised-list.ts'
import { storedRows } from '../../platform/store/stored-rows.ts'
import { bySpecificity, choicesFor, conditionNames, type Choices, type RouteConditions, type RoutedMail } from './choose-route.ts'
import { routeObject, type RouteFields } from './route-object.ts'
import { direct } from './smarthost-object.ts'
import { smarthostLock } from './smarthosts.ts'

/** A route as it is stored. */
export interface StoredRoute extends RouteFields {
  id: string
  /** Epoch, ms. */
  createdAt: number
  revision: number
}

type RouteRow = StoredRoute & { conditions: string }

const rows = storedRows<RouteRow>('smarthost_route')([...routeObject.plain, 'id', 'conditions', 'createdAt', 'revision'], routeObject.flags)

const maxRoutes = 10_000

/** Which mail goes by which smarthost, held in memory. */
export class SmarthostRoutes extends RevisedList<StoredRoute> {
  readonly #services: Pick<BaseServices, 'db' | 'clock'>
  /** By specificity. */
  #ranked: readonly StoredRoute[] = []
  #onChange: (() => void) | undefined

  constructor(services: Pick<BaseServices, 'db' | 'clock' | 'changes'>) {
    const { db, changes } = services
    const select = `select ${rows.columns} from smarthost_route`
    super({ kind: 'smarthost_route', changes, fetch: heldRows(db, { select, read: (row) => rows.read(row) }) })
    this.#services = services
  }

  /** The most specific first, and of equal ones the oldest. */
  list(): readonly StoredRoute[] {
    return this.#ranked
  }

  /** Called now, and after each change, here or at another node. */
  onChange(listener: () => void): void {
    this.#onChange = listener
    listener()
  }

  /** The oldest first. */
  byAge(): StoredRoute[] {
    return this.inOrder()
  }

  /** @throws SternaError `not_found` */
  get(id: string): StoredRoute {
    const route = this.held(id)
    if (route) return route
    throw noRoute()
  }

  /** Where mail goes; null if no route is for any mail to the destination. Costs nothing without routes. */
  choicesFor(mail: () => RoutedMail): Choices | null {
    return this.#ranked.length === 0 ? null : choicesFor(mail(), this.#ranked)
  }

  /** @throws SternaError `invalid_state`; `not_found` if there is no such smarthost */
  async create(given: RouteFields): Promise<StoredRoute> {
    if (this.#ranked.length >= maxRoutes) {
      throw new SternaError('invalid_state', `There may be ${maxRoutes} routes. Remove one that is no longer needed.`)
    }
    const now = this.#services.clock.now()
    const route = { ...given, id: newId('rt', now), conditions: textOf(given), createdAt: now, revision: 0 }
    const write = this.#write([rows.insert(route)], route)
    await refusedAs(write, UniqueError, (cause) => {
      const message = 'There is a route for the same mail already. Change where that leads, or remove it.'
      return new SternaError('invalid_state', message, { cause })
    })
    return this.keep(route)
  }

  /** @throws SternaError `not_found`, also if there is no such smarthost */
  change(id: string, { via = this.get(id).via }: { via?: string | undefined }): Promise<StoredRoute> {
    return this.revise(id, async () => {
      const { revision } = this.get(id)
      const sql = 'update smarthost_route set via = :via, revision = revision + 1 where id = :id and revision = :revision'
      await this.#write([{ sql, params: { id, via, revision }, expect: 1 }], { id, via })
      await this.reload(id)
      return this.get(id)
    })
  }

  /** @throws SternaError `not_found` */
  async remove(id: string): Promise<void> {
    this.get(id)
    const sql = 'delete from smarthost_route where id = :id'
    await refusedAs(this.#services.db.write([{ sql, params: { id }, expect: 1 }, ...this.note(id)]), ConflictError, noRoute)
    this.drop(id)
  }

  /** Removes those of an account. */
  async removeAll(accountId: string): Promise<void> {
    for (const { id } of this.inOrder((route) => route.accountId === accountId)) await this.remove(id)
  }

  /** On the condition that there is the smarthost. */
  async #write(batch: Statement[], { id, via }: { id: string; via: string }): Promise<void> {
    const sql = 'update smarthost set name = name where name = :via'
    const named: Statement[] = via === direct ? [] : [{ sql, params: { via }, expect: 1, guard: 'smarthost', locks: smarthostLock(via) }]
    try {
      await this.#services.db.write([...named, ...batch, ...this.note(id)])
    } catch (error) {
      if (!(error instanceof ConflictError) || error.guard !== 'smarthost') throw error
      throw new SternaError('not_found', `There is no smarthost ${via}. Add it first, or write ${direct}.`, { cause: error })
    }
  }

  protected override follow(): void {
    this.#ranked = this.inOrder().toSorted(bySpecificity)
    this.#onChange?.()
  }
}

const textOf = (conditions: RouteConditions): string => conditionNames.map((name) => conditions[name] ?? '').join('|')

const noRoute = (cause?: unknown): SternaError => new SternaError('not_found', 'There is no route with this id.', { cause })
