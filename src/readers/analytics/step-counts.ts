import { explainBounce, type ToldBounce } from '../explanation/explain-attempt.ts'
import type { CountedEvents, ReadStep } from './counted-events.ts'
import type { KnownValues } from './known-values.ts'
import { latencyColumns } from './latency.ts'
import { countedMetrics, type CountedMetric } from './metric.ts'
import { dayMs } from './period.ts'
import { linkMetrics, repeatedTypes, talliesSince, type LinkMetric, type RepeatedEvent, type Tally } from './recipient-counts.ts'
import { quarterMs, startOf } from './span.ts'

/** What counts are broken down by, besides time and domain; `''` is all mail. */
export type Breakdown = '' | 'tag' | 'template' | 'provider' | 'bounce_category' | 'cause'

/** What to add to each column of `rollup` or `rollup_latency`, in a quarter of an hour and its hour and day. */
export interface CountRow {
  key: { accountId: string; breakdown: Breakdown; quarter: number; value: string; domainId: string }
  added: number[]
}

/** The same for `rollup_link`. */
export interface LinkRow {
  key: { accountId: string; templateId: string; start: number; link: string }
  added: number[]
}

const place = Object.fromEntries(countedMetrics.map((metric, at) => [metric, at])) as Record<CountedMetric, number>
const linkPlace = Object.fromEntries(linkMetrics.map((metric, at) => [metric, at])) as Record<LinkMetric, number>
const repeated: ReadonlySet<string> = new Set(repeatedTypes)

const noMetrics = countedMetrics.map(() => 0)
const noLatencies = latencyColumns.map(() => 0)

type Value = [breakdown: Breakdown, value: string]

/** Collects what the events of a step add to the counts. */
export class StepCounts {
  readonly #values: KnownValues
  readonly #rows = new Map<string, CountRow>()
  readonly #latencies = new Map<string, CountRow>()
  readonly #links = new Map<string, LinkRow>()
  /** The rows for events of the same kind. */
  readonly #alike = new Map<string, number[][]>()

  constructor(values: KnownValues) {
    this.#values = values
  }

  get rows(): CountRow[] {
    return [...this.#rows.values()].filter(isChange)
  }

  get latencies(): CountRow[] {
    return [...this.#latencies.values()]
  }

  get links(): LinkRow[] {
    return [...this.#links.values()].filter(isChange)
  }

  async count({ from, events, histories }: ReadStep): Promise<void> {
    const counted = new Set<string>()
    for (const event of events) {
      if (!repeated.has(event.type)) {
        await this.#countOnce(event)
      } else if (event.recipient_id !== null && !counted.has(event.recipient_id)) {
        counted.add(event.recipient_id)
        await this.#countHistory(event, histories.get(event.recipient_id) ?? [], from)
      }
    }
  }

  async #countOnce(event: CountedEvents): Promise<void> {
    const { type, quarter: at, encrypted, bucket, events: by } = event
    if (type === 'email.bounced') {
      const { category, cause, metric } = bounceOf(event)
      await this.#add(event, { at, metric, by })
      for (const value of [
        ['bounce_category', category],
        ['cause', cause],
      ] satisfies Value[]) {
        add(this.#rowOf(this.#rows, event, { at, none: noMetrics }, value), place[metric], by)
      }
      return
    }
    await this.#add(event, { at, metric: type === 'email.sent' ? 'sent' : 'delivered', by })
    if (encrypted !== null) await this.#add(event, { at, metric: encrypted === 1 ? 'delivered_encrypted' : 'delivered_unencrypted', by })
    if (bucket === null) return
    for (const value of [
      ['', ''],
      ['provider', event.provider ?? ''],
    ] satisfies Value[]) {
      add(this.#rowOf(this.#latencies, event, { at, none: noLatencies }, value), bucket, by)
    }
  }

  async #countHistory(event: CountedEvents, history: readonly RepeatedEvent[], from: number): Promise<void> {
    for (const tally of netOf(talliesSince(history, from))) {
      if (tally.link === null) await this.#add(event, tally)
      else if (event.template_id !== null) await this.#addLink(event, event.template_id, tally)
    }
  }

  async #add(event: CountedEvents, { at, metric, by }: { at: number; metric: CountedMetric; by: number }): Promise<void> {
    const { account_id: accountId, domain_id: domainId, template_id: templateId, provider, tags } = event
    const key = `${startOf(at, quarterMs)} ${accountId} ${domainId} ${templateId} ${provider} ${tags}`
    let alike = this.#alike.get(key)
    if (!alike) {
      alike = (await this.#valuesOf(event, at)).map((value) => this.#rowOf(this.#rows, event, { at, none: noMetrics }, value))
      this.#alike.set(key, alike)
    }
    for (const row of alike) add(row, place[metric], by)
  }

  #rowOf(
    rows: Map<string, CountRow>,
    { account_id: accountId, domain_id: domainId }: CountedEvents,
    { at, none }: { at: number; none: number[] },
    [breakdown, value]: Value,
  ): number[] {
    const quarter = startOf(at, quarterMs)
    const name = `${quarter} ${accountId} ${domainId} ${breakdown} ${value}`
    let row = rows.get(name)
    if (!row) rows.set(name, (row = { key: { accountId, breakdown, quarter, value, domainId: domainId ?? '' }, added: [...none] }))
    return row.added
  }

  async #valuesOf({ account_id: accountId, template_id: templateId, provider, tags }: CountedEvents, at: number): Promise<Value[]> {
    const day = startOf(at, dayMs)
    const values: Value[] = [
      ['', ''],
      ['provider', provider ?? ''],
    ]
    if (templateId !== null) values.push(['template', await this.#values.place({ accountId, breakdown: 'template', day }, templateId)])
    // Several values beyond the limit count as one.
    const placed = new Set<string>()
    for (const tag of tagsOf(tags)) placed.add(await this.#values.place({ accountId, breakdown: 'tag', day }, tag))
    return [...values, ...Array.from(placed, (tag): Value => ['tag', tag])]
  }

  async #addLink(
    { account_id: accountId }: CountedEvents,
    templateId: string,
    tally: Tally & { link: string; metric: LinkMetric },
  ): Promise<void> {
    const { at, by, metric, link } = tally
    const start = startOf(at, dayMs)
    const value = await this.#values.place({ accountId, templateId, day: start }, link)
    const name = JSON.stringify([accountId, templateId, start, value])
    let row = this.#links.get(name)
    if (!row) this.#links.set(name, (row = { key: { accountId, templateId, start, link: value }, added: linkMetrics.map(() => 0) }))
    add(row.added, linkPlace[metric], by)
  }
}

const add = (row: number[], at: number, by: number): void => void (row[at] = (row[at] ?? 0) + by)

const isChange = ({ added }: { added: number[] }): boolean => added.some((by) => by !== 0)

/** Drops changes that cancel out, so that nothing is placed for them. */
function netOf(tallies: Tally[]): Tally[] {
  const net = new Map<string, Tally>()
  for (const tally of tallies) {
    const name = JSON.stringify([startOf(tally.at, quarterMs), tally.metric, tally.link])
    const before = net.get(name)
    net.set(name, before ? { ...before, by: before.by + tally.by } : tally)
  }
  return [...net.values()].filter(({ by }) => by !== 0)
}

/** Suppressed recipients, and those that failed through our own fault, have not bounced. */
function bounceOf({ bounce, provider }: CountedEvents): { category: string; cause: string; metric: CountedMetric } {
  const told = JSON.parse(bounce ?? '{}') as ToldBounce & { bounce_type?: string }
  const { bounce_category: category, bounce_type: type } = told
  const bounced = type === 'hard' ? 'bounced_permanent' : 'bounced_transient'
  return {
    category: category ?? 'other',
    cause: explainBounce(told, provider).code,
    metric: category === 'suppressed' ? 'suppressed' : category === 'internal_error' ? 'failed' : bounced,
  }
}

const tagsOf = (json: string | null): string[] =>
  json === null || json === '[]' ? [] : (JSON.parse(json) as { name: string; value: string }[]).map(({ name, value }) => `${name}=${value}`)
