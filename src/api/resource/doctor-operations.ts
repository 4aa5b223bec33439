import { z } from 'zod'
import { checkNames, findingStatuses, worstOf } from '../../upkeep/doctor/finding.ts'
import type { Examined } from '../../upkeep/doctor/examinations.ts'
import { findingWordings } from '../../upkeep/doctor/finding-wordings.ts'
import { isoTime } from '../../platform/iso-time.ts'
import type { Operation } from '../operation/operation.ts'
import { operationsAt } from '../operation/operations-at.ts'
import { numberParameter } from '../operation/query.ts'
import { resource, timeAnswer } from '../operation/resource.ts'
import { codeFields } from './worded-answer.ts'
import type { Needs } from './operation-services.ts'

const finding = z
  .object({
    check: z.enum(checkNames).describe('What was examined.'),
    status: z.enum(findingStatuses).describe('`failed`: it makes mail get lost, refused or taken for spam.'),
    ...codeFields(findingWordings),
    what: z.string().describe('What was found.'),
    advice: z.string().nullable().describe('What to do about it; null if there is nothing to do.'),
  })
  .meta({ id: 'Finding' })

/** What was found, as the API and the command line show it. */
export const doctorResource = resource<Examined>(null)({
  object: 'doctor',
  status: [z.enum(['ok', 'warning', 'failed']).describe('The worst status of all findings.'), ({ findings }) => worstOf(findings)],
  checked_at: [timeAnswer, ({ at }) => isoTime(at)],
  findings: z.array(finding),
})

const at = operationsAt({ path: '/api/doctor', tag: 'Operation', permission: 'operator' })

/** `/api/doctor` */
export function doctorOperations(services: Needs<'examinations'>): Operation[] {
  return [
    at.get('doctor.examine', '', 'Check what a mail server needs', {
      description:
        'Checks port 25, the names and reverse DNS of the sending addresses, SPF, DKIM and DMARC of every domain, certificate, clock, ' +
        'disk, blocklists and resolver, and says what to do about each. Takes up to half a minute.',
      query: {
        max_age: numberParameter(0, 86_400).meta({
          description: 'Seconds. The last findings are shown if they are no older; by default every request checks anew.',
        }),
      },
      answer: ['The findings.', doctorResource.schema],
      handle: async ({ query }) => doctorResource.answer(await services.examinations.latest((query.max_age ?? 0) * 1_000)),
    }),
  ]
}
