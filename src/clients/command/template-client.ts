import type { OperationClient } from '../../api/operation/operation-client.ts'
import type { templateResource } from '../../api/resource/template-resource.ts'
import { everyPage } from './api-command.ts'

/** What the API answers about a template. */
export type TemplateAnswer = ReturnType<typeof templateResource.answer>

/** The operations on an account's templates. */
export type TemplateClient = ReturnType<typeof templateClient>

/** `command` records what it does: the operations do not. */
export const templateClient = (perform: OperationClient, accountId: string) => {
  const scope = { accountId, sandbox: false }
  const of = (idOrAlias: string) => ({ scope, params: { idOrAlias }, isRecorded: true }) as const
  return {
    get: (name: string) => perform('templates.get', of(name)) as Promise<TemplateAnswer>,
    list: async () => (await everyPage((query) => perform('templates.list', { scope, query }))).data.map(({ id = '' }) => id),
    create: (body: object) => perform('templates.create', { scope, body, isRecorded: true }) as Promise<{ id: string }>,
    update: (name: string, body: object) => perform('templates.update', { ...of(name), body }),
    publish: (name: string) => perform('templates.publish', of(name)) as Promise<{ version: number }>,
    dependents: async (name: string) =>
      ((await perform('templates.list_dependents', of(name))) as { data: { id: string; alias: string | null; is_outdated: boolean }[] })
        .data,
  }
}
