import { SternaError } from '../../platform/errors.ts'

/** API requests per minute by plan, from the setting `plans`. */
export type Plans = Readonly<Record<string, number>>

/**
 * The plan, if the setting `plans` has it.
 * @throws SternaError `validation_error`
 */
export function checkedPlan(plan: string, plans: Plans): string {
  if (Object.hasOwn(plans, plan)) return plan
  const message = `There is no plan "${plan}"; choose one of ${Object.keys(plans).join(', ')}.`
  throw new SternaError('validation_error', message, { faults: [{ field: 'plan', code: 'invalid_value', message, help: null }] })
}
