import { asWritten, textTypeOf } from '../../senders/account/policy-text.ts'
import { lastPart, type OwnPolicyValues, type Policy, type PolicyField } from '../../senders/account/policy.ts'
import { policyObject, shownPolicies } from '../../api/resource/account-policy-operations.ts'
import { SettingFault } from '../../platform/config/setting-types.ts'
import { argument, table, textOption, usageFault, type Command, type CommandInput } from './command.ts'

const optionOf = ({ name }: PolicyField): string => lastPart(name).replaceAll('_', '-')

/** What an option says: undefined if it is not given, null if the settings are to apply. */
function valueIn(input: CommandInput, field: PolicyField): unknown {
  const given = textOption(input, optionOf(field))
  if (given === undefined || given === 'default') return given && null
  try {
    return textTypeOf(field).parse(given)
  } catch (error) {
    throw error instanceof SettingFault ? usageFault(`--${optionOf(field)}: ${error.message}`) : error
  }
}

/** `account retry-schedule ACCOUNT --delays 1m,5m`: shows a policy of an account, and changes it. */
const commandFor = (policy: Policy): Command => ({
  name: `account ${policy.path.slice(1)}`,
  args: ['ACCOUNT'],
  options: Object.fromEntries(
    Object.values(policy.fields).map((field) => {
      const doc = `${field.doc.replaceAll('`', '')} With the word default, the setting ${field.setting} applies.`
      return [optionOf(field), { type: 'string', value: lastPart(field.name).toUpperCase().replaceAll('_', '-'), doc } as const]
    }),
  ),
  doc: `Shows ${policy.resource?.about}; each option changes it. ${policy.resource?.applies}`,
  async run(input, { accounts, policies }) {
    const { id } = accounts.getAccount(argument(input, 0))
    const fields = Object.entries(policy.fields)
    const change = Object.fromEntries(fields.map(([key, field]) => [key, valueIn(input, field)]))
    const changed = Object.values(change).some((value) => value !== undefined)
    if (changed) await policies.change(policy, id, change as Partial<OwnPolicyValues<Policy>>)
    const [inForce, own] = [policies.of(policy, id), policies.ownOf(policy, id)]
    const rows = fields.map(([key, field]) => [
      optionOf(field),
      String(asWritten(field, inForce[key])),
      own[key] === null ? `setting ${field.setting}` : 'account',
    ])
    return { stdout: table([['OPTION', 'VALUE', 'FROM'], ...rows]), json: policyObject(policy, id, policies), objectId: id, changed }
  },
})

export const accountPolicyCommands: Command[] = shownPolicies.map(commandFor)
