import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import type { BaseServices } from '../../platform/base-services.ts'
import { reportPathOf, type ReportService } from '../../platform/config/report-services.ts'
import { SternaError } from '../../platform/errors.ts'
import { newId } from '../../platform/id.ts'
import { readByAny } from '../../platform/key-generations.ts'
import type { Metrics } from '../../platform/metrics/metrics.ts'
import { decodeToken } from '../../platform/smtp/verp.ts'
import type { FreeSpace } from '../../mail-in/submission/free-space.ts'
import type { ReturnedMailStore } from '../feedback/returned-mail-store.ts'
import { composeSmarthostReport } from './compose-smarthost-report.ts'
import type { ParsedReports } from './parse-smarthost-reports.ts'
import type { SmarthostReport } from './smarthost-report.ts'
import { reportVerifier, type ReportRequest, type VerifyReport } from './verify-report.ts'
import type { FetchFromSns } from './sns-certificates.ts'

interface SmarthostReportsServices extends Pick<BaseServices, 'clock' | 'log'> {
  metrics: Pick<Metrics, 'reportsReceived'>
  space: Pick<FreeSpace, 'require'>
  returnedMail: Pick<ReturnedMailStore, 'keep'>
  /** Verify recipients' tokens. */
  tokenKeys: () => readonly Buffer[]
  fetchFromSns: FetchFromSns
  /** Where services reach this server. */
  baseUrl: string
  /** `parseSmarthostReports`, where a large body makes nobody wait. */
  parse(service: ReportService, body: string): ParsedReports | Promise<ParsedReports>
}

/** The service that takes our mail, and what proves its reports. */
interface ReportSettings {
  service: ReportService
  key: string
}

/** What came of a request. */
export interface TakenReports {
  taken: number
  ignored: number
}

/** Reports that are stored at a time. */
const storedAtOnce = 32

/**
 * Takes the reports of the smarthost: verifies them, and stores them as returned mail before the answer, to be settled with the rest of
 * what comes back. A report counts only with the reference of one of our messages, which only the service and who has the message can know.
 */
export class SmarthostReports {
  readonly #services: SmarthostReportsServices
  readonly #service: ReportService | null
  readonly #verify: VerifyReport | null

  /** @param settings null if the smarthost reports nothing */
  constructor(services: SmarthostReportsServices, settings: ReportSettings | null) {
    this.#services = services
    this.#service = settings?.service ?? null
    this.#verify = settings && reportVerifier(settings.service, settings.key, services)
  }

  /** @throws SternaError `not_found` if this is not the service that reports */
  require(service: string): void {
    if (service !== this.#service)
      throw new SternaError(
        'not_found',
        `This server takes no reports of ${service}. If that is your smarthost, set delivery.smarthost_reports.`,
      )
  }

  /**
   * Resolves once everything is on disk.
   * @throws SternaError as `VerifyReport`, `invalid_json`, `not_found`, `service_unavailable` if there is no room
   * @throws StorageFullError
   */
  async take(service: ReportService, request: ReportRequest): Promise<TakenReports> {
    this.require(service)
    if (!(await this.#verify!(request))) return { taken: 0, ignored: 0 }
    const { reports, ignored } = await this.#services.parse(service, request.body)
    let taken = 0
    for (let done = 0; done < reports.length; done += storedAtOnce) {
      const stored = await Promise.all(
        reports.slice(done, done + storedAtOnce).map((report) => this.#keep(service, report, request.address)),
      )
      taken += stored.filter(Boolean).length
      // Reports that are not ours are not stored, so nothing else lets other work in between.
      await yieldToEventLoop()
    }
    return { taken, ignored: ignored + reports.length - taken }
  }

  /** False if it is not about mail of ours. */
  async #keep(service: ReportService, report: SmarthostReport, address: string): Promise<boolean> {
    const { clock, metrics, space, returnedMail, tokenKeys, baseUrl } = this.#services
    const token = readByAny(tokenKeys(), (key) => decodeToken(report.reference, key, clock.now()))
    if (token?.purpose !== 'reference' || token.isExpired) return false
    const content = composeSmarthostReport(service, report)
    space.require(content.length)
    const { recipientId } = token
    const isKept = await returnedMail.keep({
      id: newId('rep', clock.now()),
      reversePath: null,
      recipients: [{ forwardPath: reportPathOf(service), purpose: 'smarthost_report', recipientId }],
      remoteAddress: address,
      ehloName: service,
      tls: baseUrl.startsWith('https:'),
      requireTls: false,
      content,
    })
    if (!isKept) throw new SternaError('service_unavailable', 'There is no room for more reports now. Try again later.', { retryAfter: 60 })
    metrics.reportsReceived.smarthost_report.add()
    return true
  }
}
