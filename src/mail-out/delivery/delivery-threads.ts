import type { Worker } from 'node:worker_threads'
import { messageOf, SternaError } from '../../platform/errors.ts'
import type { Log } from '../../platform/log.ts'
import { startThread } from '../../platform/program.ts'
import { textNumber } from '../../platform/text-number.ts'
import type { ListenAddress } from './address-guard.ts'
import type { Attempt, ContentSupply, DeliveryJob, Postponed } from './attempt.ts'
import type { ClassicalHost } from './classical-hosts.ts'
import type { DeliverySettings, FromThread, ToThread } from './delivery-messages.ts'
import type { KnownSts } from '../mta-sts/known-sts.ts'
import type { KnownToken } from '../oauth/known-token.ts'
import { nothingKnown, type Known } from './known-to-threads.ts'
import { readProviders } from './mx-provider.ts'
import { Outbox } from './outbox.ts'
import type { ProviderStop } from './provider-stops.ts'
import type { Smarthost } from './smarthost.ts'
import { Suspects, type OnCrash, type OpenJob } from './suspects.ts'
import { nobody, type Told } from './told.ts'

export interface DeliveryOptions extends Omit<DeliverySettings, 'sharedCells'> {
  threads: number
  /** Makes the metrics of one thread; default: none. */
  newCells?: () => SharedArrayBuffer
}

/** The delivery threads, as the main thread sees them. */
export interface Delivery {
  /**
   * Attempts one job. Reports every recipient once, then the promise resolves. It does not reject: after `stop` the recipients are
   * postponed. `supply` provides content that does not go along with the job.
   */
  deliver(job: DeliveryJob, onAttempt: (result: Attempt | Postponed) => void, supply: ContentSupply): Promise<void>
  /** Hands over a private key (PKCS #8, DER) that later jobs name by this id. */
  addKey(id: string, der: Uint8Array): void
  /** Forgets a key that no later job names. */
  dropKey(id: string): void
  /** What this server listens on from now on: never connected to. */
  setOwnListeners(listeners: ListenAddress[]): void
  /** A host that drops large hellos, or no longer does. */
  setClassicalHost(host: ClassicalHost): void
  /** A group of destinations that is sent nothing for a while, or to which mail flows again. */
  setProviderStop(stop: ProviderStop): void
  /** What is known of the MTA-STS policy of a domain. */
  setStsPolicy(known: KnownSts): void
  /** What is known of the access token for the smarthost. */
  setSmarthostToken(known: KnownToken): void
  /** All that routes may name. */
  setSmarthosts(smarthosts: Smarthost[]): void
  /** Lets transactions under way finish for this long, then breaks them off; mail that has not begun is postponed. */
  stop(graceMs: number): Promise<void>
}

const ehloNameForm = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/i
/** In addition to the grace period for transactions: time for the thread to answer at all. */
const stopMarginMs = 1000
/** After this many crashes in this time, a new thread waits, ms. */
const crashWindowMs = 10 * 60_000
const maxRestartWaitMs = 60_000

/**
 * Starts the threads that sign and deliver.
 * @throws SternaError `configuration` if the host name is not valid in EHLO
 */
export function startDelivery({ threads, newCells, ...options }: DeliveryOptions, log: Log, told: Told = nobody): Delivery {
  readProviders()
  if (!ehloNameForm.test(options.hostname)) {
    throw new SternaError(
      'configuration',
      `hostname: "${options.hostname}" is not a host name. Use the name that this server's address resolves to.`,
    )
  }
  const known = nothingKnown()
  const start = (onCrash: OnCrash): DeliveryThread => {
    const settings = newCells ? { ...options, sharedCells: newCells() } : options
    return new DeliveryThread({ settings, known, log, onCrash, told })
  }
  const suspects = new Suspects(start, log)
  const shared = Array.from({ length: threads }, () => start(suspects.onCrash))
  const all = [...shared, suspects]
  const tellAll = (message: ToThread): void => {
    for (const each of all) each.tell(message)
  }
  return {
    deliver(job, onAttempt, supply) {
      // One destination's mail stays on one thread, where its connections are.
      const thread = suspects.has(job) ? suspects : (shared[textNumber(job.destination) % threads] as DeliveryThread)
      return thread.deliver(job, onAttempt, supply)
    },
    addKey(id, der) {
      known.keys.set(id, der)
      tellAll({ type: 'key', id, der })
    },
    dropKey(id) {
      known.keys.delete(id)
      tellAll({ type: 'drop key', id })
    },
    setOwnListeners(listeners) {
      known.listeners = listeners
      tellAll({ type: 'listeners', listeners })
    },
    ...sharing(known, tellAll),
    stop: async (graceMs) => void (await Promise.all(all.map((each) => each.stop(graceMs)))),
  }
}

/** Hands on what one thread has found, and keeps it for those that replace crashed ones. */
function sharing(
  known: Known,
  tellAll: (message: ToThread) => void,
): Pick<Delivery, 'setClassicalHost' | 'setProviderStop' | 'setStsPolicy' | 'setSmarthostToken' | 'setSmarthosts'> {
  return {
    setClassicalHost(host) {
      if (host.foundAt === null) known.classicalHosts.delete(host.key)
      else known.classicalHosts.set(host.key, host)
      tellAll({ type: 'classical host', host })
    },
    setProviderStop(stop) {
      if (stop.until === null) known.providerStops.delete(stop.key)
      else known.providerStops.set(stop.key, stop)
      tellAll({ type: 'provider stop', stop })
    },
    setStsPolicy(policy) {
      known.stsPolicies.set(policy.domain, policy)
      tellAll({ type: 'mta-sts', known: policy })
    },
    setSmarthostToken(token) {
      known.smarthostToken = token
      tellAll({ type: 'smarthost token', known: token })
    },
    setSmarthosts(smarthosts) {
      known.smarthosts = smarthosts
      tellAll({ type: 'smarthosts', smarthosts })
    },
  }
}

interface ThreadServices {
  settings: DeliverySettings
  known: Known
  log: Log
  onCrash: OnCrash
  told: Told
}

class DeliveryThread {
  readonly #services: ThreadServices
  readonly #jobs = new Map<string, OpenJob>()
  #worker: Worker | null = null
  /** Only to this worker: a message that it never received must not reach its replacement. */
  #outbox: Outbox<ToThread> | null = null
  #restart: NodeJS.Timeout | null = null
  #crashes: number[] = []
  #stopping = false
  #stopped = (): void => {}

  constructor(services: ThreadServices) {
    this.#services = services
    this.#start()
  }

  deliver(job: DeliveryJob, onAttempt: (result: Attempt | Postponed) => void, supply: ContentSupply): Promise<void> {
    if (this.#stopping || !this.#worker) {
      for (const { id } of job.recipients) onAttempt({ recipientId: id, postponed: true })
      return Promise.resolve()
    }
    return new Promise((done) => {
      this.#jobs.set(job.id, { job, open: new Set(job.recipients.map(({ id }) => id)), onAttempt, supply, done })
      this.tell({ type: 'job', job })
    })
  }

  tell(message: ToThread): void {
    this.#outbox?.add(message)
  }

  async stop(graceMs: number): Promise<void> {
    this.#stopping = true
    if (this.#restart) clearTimeout(this.#restart)
    const worker = this.#worker
    if (!worker) return
    await new Promise<void>((stopped) => {
      this.#stopped = stopped
      const timer = setTimeout(stopped, graceMs + stopMarginMs)
      this.tell({ type: 'stop', graceMs })
      worker.once('exit', () => {
        clearTimeout(timer)
        stopped()
      })
    })
    await worker.terminate()
    for (const { open, onAttempt, done } of this.#jobs.values()) {
      for (const recipientId of open) onAttempt({ recipientId, postponed: true })
      done()
    }
    this.#jobs.clear()
  }

  #start(): void {
    const { settings, known } = this.#services
    const worker = startThread(new URL('./delivery-thread.ts', import.meta.url), { workerData: settings, name: 'delivery' })
    this.#worker = worker
    this.#outbox = new Outbox((messages) => worker.postMessage(messages))
    let cause: unknown = null
    worker.on('message', (messages: FromThread[]) => {
      for (const message of messages) this.#receive(message)
    })
    worker.on('error', (error) => (cause = error))
    worker.once('exit', () => this.#onExit(cause))
    for (const [id, der] of known.keys) this.tell({ type: 'key', id, der })
    if (known.listeners) this.tell({ type: 'listeners', listeners: known.listeners })
    for (const host of known.classicalHosts.values()) this.tell({ type: 'classical host', host })
    for (const stop of known.providerStops.values()) this.tell({ type: 'provider stop', stop })
    for (const policy of known.stsPolicies.values()) this.tell({ type: 'mta-sts', known: policy })
    if (known.isStsPartial) this.tell({ type: 'mta-sts partial' })
    if (known.smarthosts.length > 0) this.tell({ type: 'smarthosts', smarthosts: known.smarthosts })
    if (known.smarthostToken) this.tell({ type: 'smarthost token', known: known.smarthostToken })
  }

  #receive(message: FromThread): void {
    if (message.type === 'stopped') {
      this.#stopped()
      void this.#worker?.terminate()
      return
    }
    if (message.type === 'looked up') return this.#services.told.lookUp(message.lookUp)
    if (message.type === 'unvalidated') return this.#services.told.unvalidated(message.servers)
    if (message.type === 'classical host') return this.#services.told.classicalHost(message.host)
    if (message.type === 'provider stop') return this.#services.told.providerStop(message.stop)
    if (message.type === 'destination group') return this.#services.told.destinationGroup(message.destination, message.group)
    if (message.type === 'mta-sts wanted') return void this.#askSts(message.domain, message.id)
    if (message.type === 'mta-sts used') return this.#services.told.stsUsed(message.domain)
    if (message.type === 'tls sessions') return this.#services.told.tlsSessions(message.sums)
    if (message.type === 'smarthost token wanted') return void this.#services.told.smarthostTokenWanted(message.serial)
    if (message.type === 'login') return this.#services.told.login(message.news)
    if (message.type === 'fault') return this.#services.log.error({ reason: message.reason }, 'a fault on a delivery thread')
    const job = this.#jobs.get(message.jobId)
    if (!job) return
    if (message.type === 'content wanted') return void this.#supply(message.jobId, job.supply)
    if (message.type === 'content left') return job.supply.giveBack()
    if (message.type === 'attempt') {
      if (job.open.delete(message.result.recipientId)) job.onAttempt(message.result)
      if (!message.isLast) return
    }
    this.#jobs.delete(message.jobId)
    if (message.isUnread) job.supply.noteUnread()
    job.done()
  }

  async #askSts(domain: string, id: string | null): Promise<void> {
    const isRead = await this.#services.told.stsWanted(domain, id)
    this.tell({ type: 'mta-sts answer', domain, id, isRead })
  }

  async #supply(jobId: string, supply: ContentSupply): Promise<void> {
    // A thread that replaced a crashed one has not asked for it.
    const outbox = this.#outbox
    const content = await supply.take().catch(messageOf)
    if (outbox && outbox === this.#outbox) outbox.add({ type: 'content', jobId, content })
    else supply.giveBack()
  }

  #onExit(cause: unknown): void {
    this.#worker = null
    this.#outbox = null
    if (this.#stopping) return
    const reason = cause === null ? 'it ended' : messageOf(cause)
    this.#services.log.error({ error: cause }, 'a delivery thread has crashed; a new one replaces it')
    const jobs = [...this.#jobs.values()]
    this.#jobs.clear()
    const now = performance.now()
    this.#crashes = [...this.#crashes.filter((at) => at > now - crashWindowMs), now]
    if (this.#crashes.length === 1) this.#start()
    else this.#restart = setTimeout(() => this.#start(), Math.min(1000 * 2 ** (this.#crashes.length - 2), maxRestartWaitMs))
    this.#services.onCrash(jobs, reason)
  }
}
