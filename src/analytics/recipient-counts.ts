import type { CountedMetric } from './metric.ts'

/** What may happen to a recipient more than once; how it counts depends on what was before. */
export const repeatedTypes = [
  'email.opened',
  'email.clicked',
  'email.rejudged',
  'email.complained',
  'email.unsubscribed',
  'email.deferred',
] as const
type RepeatedType = (typeof repeatedTypes)[number]

/** An event of the log of one of these types. */
export interface RepeatedEvent {
  seq: number
  id: string
  type: RepeatedType
  /** Epoch, ms. */
  at: number
  /** Of a hit: true unless the event says that a person made it. */
  bot: boolean
  /** What a click is counted under among the links; null where it is not. */
  link: string | null
  /** Of a late verdict: the event of the hit. */
  about: string | null
}

export const linkMetrics = ['clicked', 'bot_clicked', 'unique_clicked'] as const satisfies CountedMetric[]
export type LinkMetric = (typeof linkMetrics)[number]

/** That something counts once; with -1 that it does not any more. */
export type Tally = { at: number; by: number } & ({ metric: CountedMetric; link: null } | { metric: LinkMetric; link: string })

/**
 * What the events of one recipient count for, in the order of the log: by the first hit of a person the recipient counts as unique,
 * and by the first one on a link for that link. What a machine turned out to have made later counts as if that had been known.
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

/** How that changes by the events behind `after`, a place in the log. */
export function talliesSince(events: readonly RepeatedEvent[], after: number): Tally[] {
  const before = talliesOf(events.filter(({ seq }) => seq <= after))
  return [...talliesOf(events), ...before.map((tally) => ({ ...tally, by: -1 }))]
}
