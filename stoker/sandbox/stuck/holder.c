/* A process that holds the device nodes of the stand-in GPUs in one of the ways in which real ones
 * get stuck. Static, so that it runs on a node and in every container.
 *
 *   holder MODE NODE...        hold the nodes
 *   holder without-pdeathsig COMMAND...   run a command whose children outlive it
 *
 * After LIFE_S seconds those that renew themselves end, whoever forgot them.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHAINS 40
#define LIFE_S 3600

static int die(const char *what) {
    perror(what);
    return 1;
}

static int open_all(char **nodes) {
    for (; *nodes; nodes++)
        if (open(*nodes, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK) < 0) return die(*nodes);
    return 0;
}

static void wait_for_ever(void) {
    for (;;) pause();
}

/* A private mapping keeps the file although its descriptor is closed. */
static int map_only(const char *node) {
    int descriptor = open(node, O_RDWR);
    if (descriptor < 0) return die(node);
    if (mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, descriptor, 0) == MAP_FAILED)
        return die("mmap");
    close(descriptor);
    wait_for_ever();
    return 0;
}

static void *thread(void *nothing) {
    wait_for_ever();
    return nothing;
}

/* The main thread ends, another one lives on with the files. */
static int zombie_leader(void) {
    pthread_t other;
    if (pthread_create(&other, NULL, thread, NULL)) return die("pthread_create");
    syscall(SYS_exit, 0);
    return 0;
}

/* The child keeps the files it inherited; the parent that opened them is killed. */
static int forked_child(void) {
    if (fork() == 0) wait_for_ever();
    raise(SIGKILL);
    return 0;
}

static int forgotten(void) {
    struct timespec now;
    static time_t began;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (!began) began = now.tv_sec;
    return now.tv_sec - began > LIFE_S;
}

/* Not a holder itself: starts one anew as soon as it is gone. */
static int respawner(char **nodes) {
    while (!forgotten()) {
        pid_t child = fork();
        if (child == 0) {
            if (open_all(nodes)) _exit(1);
            alarm(LIFE_S);
            wait_for_ever();
        }
        waitpid(child, NULL, 0);
        usleep(100000);
    }
    return 0;
}

/* Each process of a chain leaves its files to a child after a second: no pid stays. */
static int fork_bomb(void) {
    signal(SIGCHLD, SIG_IGN);
    forgotten();
    for (int chain = 1; chain < CHAINS; chain++)
        if (fork() == 0) break;
    while (!forgotten()) {
        sleep(1);
        pid_t next = fork();
        if (next > 0) _exit(0);
    }
    return 0;
}

/* Writes to its standard output for as long as that takes it. */
static int writer(void) {
    for (;;) {
        if (write(1, "still here\n", 11) < 0) return die("write");
        usleep(50000);
    }
}

/* prctl(PR_SET_PDEATHSIG) answers 0 and does nothing from here on, for all descendants: so they
 * outlive a parent that is killed, as those of a server without that precaution do. */
static int without_pdeathsig(char **command) {
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_PDEATHSIG, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return die("no_new_privs");
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) return die("seccomp");
    execv(command[0], command);
    return die(command[0]);
}

int main(int count, char **words) {
    if (count < 3) return fprintf(stderr, "usage: holder MODE NODE...\n"), 2;
    const char *mode = words[1];
    char **rest = words + 2;
    if (!strcmp(mode, "without-pdeathsig")) return without_pdeathsig(rest);
    if (!strcmp(mode, "mapped-only")) return map_only(rest[0]);
    if (!strcmp(mode, "respawner")) return respawner(rest);
    if (open_all(rest)) return 1;
    if (!strcmp(mode, "term-ignorer")) signal(SIGTERM, SIG_IGN);
    if (!strcmp(mode, "zombie-leader")) return zombie_leader();
    if (!strcmp(mode, "forked-child")) return forked_child();
    if (!strcmp(mode, "fork-bomb")) return fork_bomb();
    if (!strcmp(mode, "writer")) return writer();
    wait_for_ever();
    return 0;
}
