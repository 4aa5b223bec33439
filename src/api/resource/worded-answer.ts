import { z } from 'zod'
import { codesOf, type Wording } from '../../platform/wording.ts'

/** What stands beside sentences for people, so that clients can say the same in another language. */
export const codeFields = <const T extends Record<string, Wording>>(wordings: T) => ({
  code: z.enum(codesOf(wordings)).describe('What the sentences say, for programs.'),
  parameters: z.record(z.string(), z.union([z.string(), z.number()])).describe('What the sentences name. Times are in ISO 8601.'),
})
