import type { SchemaViolation } from '../../gen/spindle/v1/tool_pb.ts';
import { type Diagnosis, violationsOf } from './diagnose.ts';
import { childPointer, isJsonObject, ownValue } from './json-value.ts';
import { type PlainSchema, target } from './plain-schema.ts';
import { admitsTypeOf } from './shape.ts';
import { tagOf } from './tag.ts';
import { choices, quotedName, violation } from './violation.ts';

type Keyword = 'anyOf' | 'oneOf';

/** What is wrong with a value by its unions: what the branch that was meant says, then the union itself (1.9). */
export function diagnoseUnion(
  schema: { readonly anyOf?: readonly PlainSchema[]; readonly oneOf?: readonly PlainSchema[] },
  value: unknown,
  path: string,
  diagnosis: Diagnosis,
): SchemaViolation[] {
  return (['anyOf', 'oneOf'] as const).flatMap((keyword) => {
    const branches = schema[keyword];
    return branches === undefined ? [] : ofBranches(keyword, branches, value, path, diagnosis);
  });
}

function ofBranches(
  keyword: Keyword,
  branches: readonly PlainSchema[],
  value: unknown,
  path: string,
  diagnosis: Diagnosis,
): SchemaViolation[] {
  const tag = isJsonObject(value) ? tagOf(branches, diagnosis) : undefined;
  const given = tag === undefined || !isJsonObject(value) ? undefined : ownValue(value, tag.property);
  const meant = tag?.branches.get(given);
  if (tag !== undefined && meant === undefined) {
    const tags = choices([...tag.branches.keys()]);
    const union = violation(path, keyword, `must have ${quotedName(tag.property)} set to one of ${tags}`);
    if (isJsonObject(value) && !Object.hasOwn(value, tag.property)) {
      return [violation(path, 'required', `must have the property ${quotedName(tag.property)}`), union];
    }
    return [violation(childPointer(path, tag.property), tag.keyword, `must be one of ${tags}`), union];
  }
  const results = branches.map((branch) => violationsOf(branch, value, path, diagnosis));
  const matching = results.filter((found) => found.length === 0).length;
  if (matching === 1 || (matching > 1 && keyword === 'anyOf')) return [];
  if (matching > 1)
    return [violation(path, keyword, 'must match only one of the allowed forms, not several')];
  if (meant !== undefined) return results[branches.indexOf(meant)] ?? [];
  return [
    ...ofNearest(branches, results, value, diagnosis),
    unionViolation(keyword, branches, path, diagnosis),
  ];
}

/** The violations of the one branch that takes values of this type; nothing where several do. */
function ofNearest(
  branches: readonly PlainSchema[],
  results: readonly SchemaViolation[][],
  value: unknown,
  { root }: Diagnosis,
): SchemaViolation[] {
  const near = results.filter((_, index) => {
    const branch = branches[index];
    return branch !== undefined && admitsTypeOf(branch, root, value);
  });
  return near.length === 1 ? (near[0] ?? []) : [];
}

function unionViolation(
  keyword: Keyword,
  branches: readonly PlainSchema[],
  path: string,
  { root }: Diagnosis,
): SchemaViolation {
  const allowed: unknown[] = [];
  const types = new Set<string>();
  let open = false;
  for (const branch of branches.map((each) => resolved(each, root))) {
    if (typeof branch === 'boolean') continue;
    if ('const' in branch) allowed.push(branch.const);
    else if (branch.enum !== undefined) allowed.push(...branch.enum);
    else if (branch.type !== undefined) for (const type of branch.type) types.add(type);
    else open = true;
  }
  const forms = [...(allowed.length === 0 ? [] : [`one of ${choices(allowed)}`]), ...types];
  const message = `must match one of ${branches.length} allowed forms`;
  return violation(path, keyword, open || forms.length === 0 ? message : `${message}: ${forms.join(' or ')}`);
}

function resolved(branch: PlainSchema, root: PlainSchema): PlainSchema {
  return typeof branch === 'object' && branch.$ref !== undefined ? target(root, branch.$ref) : branch;
}
