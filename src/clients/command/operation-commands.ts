import { needsKey, type Operation } from '../../api/operation/operation.ts'
import { apiCommand, declaredOperations, once } from './api-command.ts'
import { optionNameOf } from './field-options.ts'
import { accountIfGiven, scopeOptions } from './command-scope.ts'
import type { Command } from './command.ts'

/** Those without a key belong to browsers; bytes that are no text cannot be printed. */
export const isCommand = (declared: Operation): boolean => {
  const { schema, mediaType = '' } = declared.answers[0]
  return needsKey(declared) && (schema !== null || mediaType.startsWith('text/'))
}

/** A command for every operation, such as `api webhooks.create`. */
export const operationCommands = once(() => [...declaredOperations().values()].filter(isCommand).map(commandFor))

function commandFor({ id, method, path, body, permission, summary }: Operation): Command {
  const params = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => [optionNameOf(name).toUpperCase(), name])
  // Operators see every account.
  const isServerWide = permission === 'operator' || permission === 'metrics'
  return apiCommand({
    name: `api ${id}`,
    does: id,
    args: Object.fromEntries(params) as Record<string, string>,
    ...(body ? { takesBody: true } : {}),
    ...(method === 'DELETE' ? { asks: () => `${summary}?` } : {}),
    ...(isServerWide
      ? {
          options: { account: { ...scopeOptions.account, required: false } },
          of: accountIfGiven,
        }
      : { sandbox: true }),
  })
}
