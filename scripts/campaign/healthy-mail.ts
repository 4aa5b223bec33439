import { setTimeout as pause } from 'node:timers/promises'

/** What each message took, ms, sorted; infinite where it did not arrive. */
export interface HealthyFigures {
  fresh: number[]
  scheduled: number[]
}

type Kind = keyof HealthyFigures

/** How long what has not arrived is waited for after a run, ms. */
const patienceMs = 15_000
/** What fresh and scheduled mail may take, ms. */
const bound = { fresh: 1_000, scheduled: 2_000 }

export const quantile = (sorted: number[], q: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Infinity

export const missing = ({ fresh, scheduled }: HealthyFigures): number => [...fresh, ...scheduled].filter((ms) => ms === Infinity).length

export const emailTo = (to: string, subject = 'One of many') => ({ from: 'app@sender.example', to, subject, text: 'Hello' })

/** Mail to ten domains `healthyN.example`, whose host must not be held up by what others do. */
export class HealthyMail {
  readonly #post: (email: object) => Promise<void>
  /** When each should have arrived at the earliest, and when it did; Date.now(), by its number. */
  readonly #awaited = new Map<number, { kind: Kind; from: number; at: number }>()
  #next = 0

  constructor(post: (email: object) => Promise<void>) {
    this.#post = post
  }

  /** @param head the beginning of a message that the host has taken */
  arrived(head: string): void {
    const mail = this.#awaited.get(Number(/^Subject: n(\d+)$/m.exec(head)?.[1] ?? -1))
    if (mail) mail.at = Math.min(mail.at, Date.now())
  }

  async send(kind: Kind, delayMs = 0): Promise<void> {
    const number = this.#next++
    const from = Date.now() + delayMs
    this.#awaited.set(number, { kind, from, at: Infinity })
    const email = emailTo(`u${number}@healthy${number % 10}.example`, `n${number}`)
    await this.#post(kind === 'fresh' ? email : { ...email, scheduled_at: new Date(from).toISOString() })
  }

  /** Sends at an even pace, and waits for what has not arrived. */
  async press(forSeconds: number): Promise<HealthyFigures> {
    this.#awaited.clear()
    const startedAt = performance.now()
    const sending: Promise<void>[] = []
    for (let tick = 0; performance.now() < startedAt + forSeconds * 1000; tick++) {
      sending.push(this.send('fresh'))
      if (tick % 2 === 0) sending.push(this.send('scheduled', 1_500))
      await pause(50)
    }
    await Promise.all(sending)
    const end = performance.now() + patienceMs
    while (performance.now() < end && [...this.#awaited.values()].some(({ at }) => at === Infinity)) await pause(50)
    return { fresh: this.#took('fresh'), scheduled: this.#took('scheduled') }
  }

  #took(kind: Kind): number[] {
    const ofKind = [...this.#awaited.values()].filter((mail) => mail.kind === kind)
    return ofKind.map(({ at, from }) => at - from).toSorted((a, b) => a - b)
  }
}

/** What is wrong with figures: what a busy machine takes when all is quiet is not to be blamed on the hosts. */
export function faultsOf(figures: HealthyFigures, quiet: HealthyFigures): string[] {
  const faults: string[] = []
  if (missing(figures) > 0) faults.push(`${missing(figures)} healthy messages did not arrive`)
  const [p99, latest] = [quantile(figures.fresh, 0.99), quantile(figures.scheduled, 1)]
  const [quietP99, quietLatest] = [quantile(quiet.fresh, 0.99), quantile(quiet.scheduled, 1)]
  if (p99 > bound.fresh + quietP99) faults.push(`fresh mail took ${p99} ms (p99), ${quietP99} when all was quiet`)
  if (latest > bound.scheduled + quietLatest) faults.push(`scheduled mail was ${latest} ms late, ${quietLatest} when all was quiet`)
  return faults
}
