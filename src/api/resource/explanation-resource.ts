import { z } from 'zod'
import { resource } from '../operation/resource.ts'
import {
  adviceAboutRetries,
  adviceAboutSuppressions,
  causeCodes,
  explanationOwners,
  type AdviceCode,
  type Explanation,
} from '../../readers/explanation/causes.ts'

const adviceCodes = [...causeCodes, ...Object.keys(adviceAboutRetries), ...Object.keys(adviceAboutSuppressions)] as AdviceCode[]

/** An explanation in plain words, as the API shows it wherever it says why. */
export const explanationResource = resource<Explanation>(null)({
  code: z.enum(causeCodes).describe('What `cause` says, for programs.'),
  cause: z.string(),
  owner: z.enum(explanationOwners).describe('Who can do something about it; `us` means this server and its operator.'),
  advice_codes: z.array(z.enum(adviceCodes)).describe('What the sentences of `advice` say.'),
  advice: z.string(),
})
