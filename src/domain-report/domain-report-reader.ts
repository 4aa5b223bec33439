import { UntrustedReader } from '../untrusted-reader.ts'
import type { ReportMail } from './read-report-mail.ts'

export interface DomainReportReader {
  /**
   * What a mail reports. Rejects with `invalid_message` if it cannot be parsed within the limits of time and memory.
   * @param mail as received; at most the few megabytes that the return path accepts
   */
  read(mail: Uint8Array): Promise<ReportMail>
  /** Ends the reader; waiting mail is rejected with `service_unavailable`. */
  stop(): Promise<void>
}

/** Starts nothing until the first mail comes. */
export function startDomainReportReader({ timeoutMs = 2000, maxOldSpaceMb = 128 } = {}): DomainReportReader {
  const child = new URL('./domain-report-process.ts', import.meta.url)
  const reader = new UntrustedReader<null, ReportMail>({ child, timeoutMs, maxOldSpaceMb })
  return {
    async read(mail) {
      const reading = await reader.read(async () => [mail], null)
      return reading?.answer ?? { reports: [], faults: ['The mail is empty.'] }
    },
    stop: () => reader.stop(),
  }
}
