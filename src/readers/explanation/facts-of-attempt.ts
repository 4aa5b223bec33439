import type { AttemptRow } from '../../mail/message/message-reader.ts'
import type { FailureFacts } from './explain-attempt.ts'
import { phaseInTranscript } from './phase-in-transcript.ts'

/** What the store knows of an attempt. @param providerOf who runs a host: `mxProviderOf` */
export function factsOfAttempt(attempt: AttemptRow, providerOf: (host: string) => string | null): FailureFacts {
  const { outcome, smtp_code: smtpCode, enhanced_status: enhancedStatus, reply, mx_host: mxHost, transcript } = attempt
  const phase = smtpCode === null || reply === null ? null : phaseInTranscript(transcript, reply)
  return { outcome, smtpCode, enhancedStatus, reply, provider: mxHost && providerOf(mxHost), phase }
}
