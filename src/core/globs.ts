/** Whether a name matches a glob: `*` stands for any characters, `?` for one. In linear time per star. */
export function matchesGlob(glob: string, name: string): boolean {
  let g = 0;
  let n = 0;
  let star = -1;
  let retry = 0;
  while (n < name.length) {
    if (g < glob.length && (glob[g] === '?' || (glob[g] !== '*' && glob[g] === name[n]))) {
      g++;
      n++;
    } else if (glob[g] === '*') {
      star = g++;
      retry = n;
    } else if (star >= 0) {
      g = star + 1;
      n = ++retry;
    } else return false;
  }
  while (glob[g] === '*') g++;
  return g === glob.length;
}
