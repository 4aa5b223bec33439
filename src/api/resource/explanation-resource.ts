import { z } from 'zod'
import { resource } from '../operation/resource.ts'
import { causeCodes, explanationOwners } from '../../readers/explanation/causes.ts'
import { adviceAboutRetries, adviceAboutSuppressions, type AdviceCode, type Explanation } from '../../readers/explanation/explanation.ts'
import { wideEffects } from '../../readers/explanation/wide-effect.ts'

const adviceCodes = [...causeCodes, ...Object.keys(adviceAboutRetries), ...Object.keys(adviceAboutSuppressions)] as AdviceCode[]

/** An explanation in plain words, as the API shows it wherever it says why. */
export const explanationResource = resource<Explanation>(null)({
  code: z.enum(causeCodes).describe('What `cause` says, for programs.'),
  cause: z.string(),
  owner: z.enum(explanationOwners).describe('Who can do something about it; `us` means this server and its operator.'),
  advice_codes: z.array(z.enum(adviceCodes)).describe('What the sentences of `advice` say.'),
  advice: z.string(),
  entry: z
    .string()
    .nullable()
    .describe('What is known of the reply: an entry of docs/causes.md; null if nothing is, or there was no reply.'),
  effect: z
    .enum(wideEffects)
    .nullable()
    .describe('What the reply means for other mail to that provider, beyond this message. Null: nothing.'),
  link: z.string().nullable().describe("The provider's page about it, or where to ask. Null: there is none."),
})
