import { shownPolicies, valueFromApi, valueInApi } from '../../api/resource/account-policy-operations.ts'
import { asWritten, textTypeOf } from '../../senders/account/policy-text.ts'
import { apiNameOf, lastPart, type Policy, type PolicyField } from '../../senders/account/policy.ts'
import { apiCommand } from './api-command.ts'
import { accountArgument, accountIn } from './command-scope.ts'
import { table, type Command } from './command.ts'

interface ShownPolicy extends Readonly<Record<string, unknown>> {
  own: Readonly<Record<string, unknown>>
}

const optionOf = ({ name }: PolicyField): string => lastPart(name).replaceAll('_', '-')

/** How an option changes a field. */
const typedFor = (field: PolicyField) => ({
  field: apiNameOf(field),
  type: 'string' as const,
  value: optionOf(field).toUpperCase(),
  doc: `${field.doc} With the word default, the setting ${field.setting} applies.`,
  as: (typed: string) => (typed === 'default' ? null : valueInApi(field, textTypeOf(field).parse(typed))),
})

/** `account retry-schedule ACCOUNT --delays 1m,5m`: shows a policy of an account, and changes it. */
const commandFor = ({ name, path, resource, ...policy }: Policy): Command => {
  const fields = Object.values(policy.fields)
  return apiCommand<ShownPolicy>({
    name: `account ${path.slice(1)}`,
    does: `${name}.update`,
    shows: `${name}.get`,
    args: { ACCOUNT: accountArgument },
    of: accountIn,
    options: Object.fromEntries(fields.map((field) => [optionOf(field), typedFor(field)])),
    doc: `Shows ${resource?.about}; each option changes it. ${resource?.applies}`,
    show: (answer) => {
      const rows = fields.map((field) => {
        const inForce = asWritten(field, valueFromApi(field, answer[apiNameOf(field)]))
        return [optionOf(field), String(inForce), answer.own[apiNameOf(field)] === null ? `setting ${field.setting}` : 'account']
      })
      return { stdout: table([['OPTION', 'VALUE', 'FROM'], ...rows]) }
    },
  })
}

export const accountPolicyCommands: Command[] = shownPolicies.map(commandFor)
