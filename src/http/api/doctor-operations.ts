import { z } from 'zod'
import type { Clock } from '../../clock.ts'
import { checkNames, type Finding, findingStatuses, worstOf } from '../../doctor/finding.ts'
import { isoTime } from '../../iso-time.ts'
import { type Operation, operation } from '../operation.ts'
import { timeAnswer } from '../time-field.ts'

export interface DoctorOperationsServices {
  clock: Clock
  /** Looks at everything; takes up to half a minute. */
  examineServer(): Promise<Finding[]>
}

const finding = z
  .object({
    check: z.enum(checkNames).describe('What was looked at.'),
    status: z.enum(findingStatuses).describe('`failed`: mail is lost, refused or taken for spam by it.'),
    what: z.string().describe('What was seen.'),
    advice: z.string().nullable().describe('What to do about it; null where nothing is to be done.'),
  })
  .meta({ id: 'Finding' })

const report = z.object({
  object: z.literal('doctor'),
  status: z.enum(['ok', 'warning', 'failed']).describe('The worst of the findings.'),
  checked_at: timeAnswer,
  findings: z.array(finding),
})

/** What was found, as the API and the command line show it. */
export const doctorObject = (findings: Finding[], now: number) => ({
  object: 'doctor' as const,
  status: worstOf(findings),
  checked_at: isoTime(now),
  findings,
})

/** `/api/doctor` */
export function doctorOperations(services: DoctorOperationsServices): Operation[] {
  return [
    operation({
      id: 'doctor.examine',
      method: 'GET',
      path: '/api/doctor',
      tag: 'Operation',
      summary: 'Check what a mail server needs',
      description:
        'Port 25, names and reverse names of the sending addresses, SPF, DKIM and DMARC of every domain, certificate, clock, ' +
        'disk, blocklists and resolver, each with what to do about it. Takes up to half a minute.',
      permission: 'operator',
      answers: [{ status: 200, description: 'What was found.', schema: report }],
      handle: async () => doctorObject(await services.examineServer(), services.clock.now()),
    }),
  ]
}
