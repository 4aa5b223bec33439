import { UntrustedReader } from '../../platform/untrusted-reader.ts'
import type { ReportMail } from './read-report-mail.ts'

export interface DomainReportReader {
  /**
   * Parses the reports in a message. Rejects with `invalid_message` if that exceeds the limits of time or memory.
   * @param mail as received; at most the few megabytes that the return path accepts
   */
  read(mail: Uint8Array): Promise<ReportMail>
  /** Ends the child process. Rejects what is waiting with `service_unavailable`. */
  stop(): Promise<void>
}

/** Starts the child process with the first message. */
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
