import type { CountedMetric } from './metric.ts'

/** Events that may repeat for a recipient. How they count depends on the earlier ones. */
export const repeatedTypes = [
  'email.opened',
  'email.clicked',
  'email.rejudged',
  'email.complained',
  'email.unsubscribed',
  'email.deferred',
] as const
type RepeatedType = (typeof repeatedTypes)[number]

/** Such an event in the log. */
export interface RepeatedEvent {
  seq: number
  id: string
  type: RepeatedType
  /** Epoch, ms. */
  at: number
  /** For a hit: true unless the event says that a person made it. */
  bot: boolean
  /** For a click: the link's name in the counts; null if it is not counted. */
  link: string | null
  /** For a late verdict: the event of the hit. */
  about: string | null
}

export const linkMetrics = ['clicked', 'bot_clicked', 'unique_clicked'] as const satisfies CountedMetric[]
export type LinkMetric = (typeof linkMetrics)[number]

/** One count; `by` is -1 if it is taken back. */
export type Tally = { at: number; by: number } & ({ metric: CountedMetric; link: null } | { metric: LinkMetric; link: string })

/**
 * What a recipient's events count for, in log order. The first hit by a person makes the recipient unique, and the first click on a link
 * makes it unique for that link. A hit that later turns out to be a machine's counts as one from the start.
 */
export function talliesOf(events: readonly RepeatedEvent[]): Tally[] {
  const machines = new Set(events.map(({ about }) => about))
  const seen = new Set<string>()
  const isFirst = (what: string): boolean => !seen.has(what) && seen.add(what).size > 0
  return events.flatMap((event) => {
    const { type, at, link } = event
    const isMachine = event.bot || machines.has(event.id)
    const count = (metric: CountedMetric, counts = true): Tally[] => (counts ? [{ at, by: 1, metric, link: null }] : [])
    const onLink = (metric: LinkMetric, counts = true): Tally[] => (link !== null && counts ? [{ at, by: 1, metric, link }] : [])
    switch (type) {
      case 'email.opened':
        return [...count('opened'), ...(isMachine ? count('bot_opened') : count('unique_opened', isFirst('opened')))]
      case 'email.clicked':
        return [
          ...count('clicked'),
          ...onLink('clicked'),
          ...(isMachine
            ? [...count('bot_clicked'), ...onLink('bot_clicked')]
            : [
                ...count('unique_opened', isFirst('opened')),
                ...count('unique_clicked', isFirst('clicked')),
                ...onLink('unique_clicked', isFirst(`link ${link}`)),
              ]),
        ]
      case 'email.complained':
        return count('complained', isFirst(type))
      case 'email.unsubscribed':
        return count('unsubscribed', isFirst(type))
      case 'email.deferred':
        return count('delivery_delayed', isFirst(type))
      case 'email.rejudged':
        return []
    }
  })
}

/** How the counts change through the events after `after`, a position in the log. */
export function talliesSince(events: readonly RepeatedEvent[], after: number): Tally[] {
  const before = talliesOf(events.filter(({ seq }) => seq <= after))
  return [...talliesOf(events), ...before.map((tally) => ({ ...tally, by: -1 }))]
}
